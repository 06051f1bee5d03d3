/** Invitations of another tenant, Harbor, and what the person of the tests answers. */
import { expect, settled, test as base } from "./look";
import { BASE } from "./service";
import { signIn } from "./sign-in";

/** A link of Harbor for this address. */
type Fixtures = { invite: (email: string) => Promise<string> };

const test = base.extend<Fixtures>({
  invite: async ({ playwright }, use) => {
    const headers = { authorization: `Bearer ${process.env.SWITCHHOOK_OTHER_KEY}` };
    const harbor = await playwright.request.newContext({ baseURL: BASE, extraHTTPHeaders: headers });
    await use(async (email) => {
      const answer = await harbor.post("/v1/people", { data: { email, role: "member" } });
      expect(answer.status(), await answer.text()).toBe(201);
      return ((await answer.json()) as { invitation_url: string }).invitation_url;
    });
    await harbor.dispose();
  },
});

// A session that moves has a new cookie: the one of the other tests must not.
test.use({ storageState: { cookies: [], origins: [] } });

const ME = "developer@localhost";

test("a person accepts an invitation, moves between the tenants, and leaves", async ({ page, invite }) => {
  await page.goto(await invite(ME));
  await expect(page).toHaveURL(/\/invitation$/);
  await signIn(page);
  await expect(page.getByRole("heading", { name: "Join Harbor?" })).toBeVisible();
  await expect(page).toHaveURL(/\/invitation$/);
  await expect(page.getByText("A program of Harbor invites developer@localhost")).toBeVisible();
  await page.getByRole("button", { name: "Accept" }).click();

  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  const tenant = page.getByRole("combobox", { name: "Tenant" });
  await expect(tenant.locator("option:checked")).toHaveText("Harbor");
  const otherTab = await page.context().newPage();
  await otherTab.goto("/settings");
  const shownThere = otherTab.getByRole("combobox", { name: "Tenant" }).locator("option:checked");
  await expect(shownThere).toHaveText("Harbor");
  // A second load while the first went on crashed the page in Chromium 156.
  let loads = 0;
  page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
  await tenant.selectOption("dev");
  // The session is everywhere in the same tenant, and no page shows another one.
  await expect(shownThere).toHaveText("dev");
  await otherTab.close();
  await expect.poll(() => loads).toBeGreaterThan(0);
  await settled(page);
  await expect(tenant.locator("option:checked")).toHaveText("dev");
  expect(loads, "loads of the tab that switched").toBe(1);
  await page.goto("/agents");
  await settled(page);
  await expect(page.getByText("Ava").first()).toBeVisible();
  await tenant.selectOption("Harbor");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await page.goto("/agents");
  await settled(page);
  await expect(page.getByText("Ava")).toHaveCount(0);

  await page.goto("/settings");
  await page.getByRole("button", { name: "Leave tenant" }).click();
  await page.getByRole("alertdialog", { name: "Leave Harbor?" }).getByRole("button", { name: "Leave" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect(tenant).toHaveCount(0);
});

test("a declined link ends, and one for another address changes nothing", async ({ page, invite }) => {
  const link = await invite(ME);
  await page.goto(link);
  await signIn(page);
  await page.getByRole("button", { name: "Decline" }).click();
  await expect(page.getByRole("heading", { name: "Declined" })).toBeVisible();
  // The same tab takes another link without loading a page by itself.
  await page.goto(link);
  await expect(page.getByRole("heading", { name: "Not valid" })).toBeVisible();

  await page.goto(await invite("somebody@example.com"));
  await expect(page.getByRole("heading", { name: "For another address" })).toBeVisible();
  await page.getByRole("button", { name: "Open the dashboard" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect(page.getByRole("combobox", { name: "Tenant" })).toHaveCount(0);
});
