import { createBrowserRouter, type RouteObject } from "react-router";
import { Root } from "./Root";
import { keepToken } from "./pages/invitation/token";
import { BrokenPage, MissingPage } from "./pages/MissingPage";
import { BASE } from "./lib/base";

/** One file per page, read when it is first opened. Each exports `Component`. */
const pages: RouteObject[] = [
  { index: true, lazy: () => import("./pages/overview/OverviewPage") },
  { path: "agents", lazy: () => import("./pages/agents/AgentsPage") },
  { path: "agents/:id", lazy: () => import("./pages/agents/AgentPage") },
  { path: "calls", lazy: () => import("./pages/calls/CallsPage") },
  { path: "calls/:id", lazy: () => import("./pages/calls/CallPage") },
  { path: "numbers", lazy: () => import("./pages/numbers/NumbersPage") },
  { path: "connections", lazy: () => import("./pages/connections/ConnectionsPage") },
  { path: "connections/:id", lazy: () => import("./pages/connections/ConnectionPage") },
  { path: "webhooks", lazy: () => import("./pages/webhooks/WebhooksPage") },
  { path: "webhooks/:id", lazy: () => import("./pages/webhooks/WebhookPage") },
  { path: "api-keys", lazy: () => import("./pages/api-keys/ApiKeysPage") },
  { path: "usage", lazy: () => import("./pages/usage/UsagePage") },
  { path: "settings", lazy: () => import("./pages/settings/SettingsPage") },
  { path: "invitation", lazy: () => import("./pages/invitation/InvitationPage") },
  { path: "*", Component: MissingPage },
];

// Before the router reads the address, which some proxies pass on without the slash.
if (BASE !== "" && window.location.pathname === BASE) {
  window.history.replaceState(window.history.state, "", `${BASE}/${window.location.search}${window.location.hash}`);
}
keepToken();

export const router = createBrowserRouter(
  [{ path: "/", Component: Root, ErrorBoundary: BrokenPage, HydrateFallback: () => null, children: pages }],
  { basename: `${BASE}/` },
);
