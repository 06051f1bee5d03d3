import { Dialog } from "@base-ui/react/dialog";
import { Menu, Search, X } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Outlet, ScrollRestoration, useLocation } from "react-router";
import type { Session } from "../api/session";
import { useLiveCalls } from "../api/live";
import { useShortcuts } from "../lib/keyboard";
import { PlaceCallHost } from "../pages/calls/PlaceCall";
import { Button } from "./Button";
import { Logo } from "./Logo";
import { Navigation } from "./Navigation";
import styles from "./Shell.module.css";

const CommandPalette = lazy(() => import("./CommandPalette"));
const ShortcutList = lazy(() => import("./ShortcutList"));

type Overlay = "palette" | "keys" | "menu" | null;

/** What surrounds every page: navigation, top bar on small screens, palette, keys. */
export function Shell({ session }: { session: Session }) {
  const [overlay, setOverlay] = useState<Overlay>(null);
  const { pathname } = useLocation();
  useLiveCalls();
  const close = () => setOverlay(null);
  // The menu's links lead away from it. The palette closes by itself, and may have been opened again before the page was there.
  useEffect(() => setOverlay((overlay) => (overlay === "menu" ? null : overlay)), [pathname]);
  // Back and Forward change the page below whatever is open, which does not belong to the new one.
  useEffect(() => {
    window.addEventListener("popstate", close);
    return () => window.removeEventListener("popstate", close);
  }, []);
  useShortcuts({
    onPalette: () => setOverlay("palette"),
    onHelp: () => setOverlay("keys"),
  });
  const navigation = <Navigation session={session} onSearch={() => setOverlay("palette")} />;
  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip}>
        Skip to content
      </a>
      <header className={styles.side}>
        <div className={styles.brand}>
          <Logo />
        </div>
        {navigation}
      </header>
      <header className={styles.bar}>
        <Button
          variant="ghost"
          icon={<Menu />}
          aria-label="Menu"
          aria-haspopup="dialog"
          onClick={() => setOverlay("menu")}
        />
        <Logo />
        <Button variant="ghost" icon={<Search />} aria-label="Search" onClick={() => setOverlay("palette")} />
      </header>
      <main id="main" tabIndex={-1} className={styles.main}>
        <Outlet context={session} />
      </main>
      <Drawer open={overlay === "menu"} onClose={close}>
        {navigation}
      </Drawer>
      <Suspense fallback={null}>
        {overlay === "palette" && <CommandPalette onClose={close} onKeys={() => setOverlay("keys")} />}
        {overlay === "keys" && <ShortcutList onClose={close} />}
      </Suspense>
      <PlaceCallHost />
      <ScrollRestoration />
    </div>
  );
}

function Drawer(props: { open: boolean; onClose: () => void; children: React.ReactNode }) {
  return (
    <Dialog.Root open={props.open} onOpenChange={(open) => !open && props.onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.drawer}>
          <Dialog.Title className="visually-hidden">Menu</Dialog.Title>
          <div className={styles.brand}>
            <Logo />
            <Dialog.Close render={<Button variant="ghost" icon={<X />} aria-label="Close menu" />} />
          </div>
          {props.children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
