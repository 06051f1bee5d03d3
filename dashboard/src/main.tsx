import "@fontsource-variable/geist/wght.css";
import "@fontsource-variable/geist-mono/wght.css";
import "./styles/tokens.css";
import "./styles/base.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { focusManager, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router/dom";
import { onSignedOut } from "./api/client";
import { isWorthARetry, retryDelay } from "./api/retry";
import { sessionQuery } from "./api/session";
import { followOtherTabs } from "./api/start-over";
import { router } from "./routes";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: isWorthARetry,
      retryDelay,
    },
  },
});
// A window beside another one gets the focus and is visible all the time.
focusManager.setEventListener((focused) => {
  const listener = () => focused();
  window.addEventListener("focus", listener);
  document.addEventListener("visibilitychange", listener);
  return () => {
    window.removeEventListener("focus", listener);
    document.removeEventListener("visibilitychange", listener);
  };
});
followOtherTabs();
onSignedOut(() => void queries.invalidateQueries(sessionQuery));

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
