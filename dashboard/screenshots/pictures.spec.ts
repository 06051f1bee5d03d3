/** The pictures of README and docs: real calls of this service, in both schemes. */
import { expect, SCHEMES, settled, SIZES, test } from "../tests/look";

const FOLDER = "../docs/images";
const PICTURES = [
  { name: "overview", path: "/" },
  { name: "calls", path: "/calls" },
  { name: "call", path: "/calls/CONVERSATION?turn=2&t=14" },
  { name: "agent", path: "/agents/AGENT" },
];

for (const scheme of SCHEMES) {
  for (const { name: size, width, height } of SIZES) {
    test(`${scheme}, ${size}`, async ({ page, seed }) => {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height });
      for (const { name, path } of PICTURES) {
        await page.goto(path.replace("CONVERSATION", seed.conversation).replace("AGENT", seed.agent));
        await settled(page);
        if (name === "call") await expect(page.getByRole("slider")).toBeVisible();
        // What the pointer or the focus marks is not the page's look.
        await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
        await page.screenshot({
          path: `${FOLDER}/${name}-${scheme}-${size}.png`,
          fullPage: size === "desktop",
        });
      }
    });
  }
}
