import { LogOut, Moon, Search, Sun } from "lucide-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { NavLink } from "react-router";
import { tenantQuery, webhooksQuery } from "../api/queries";
import { signOut, type Session } from "../api/session";
import { initials } from "../lib/format";
import { toggleTheme, useTheme } from "../lib/theme";
import { Button } from "./Button";
import { PAGES } from "./pages";
import { TenantSwitch } from "./TenantSwitch";
import styles from "./Navigation.module.css";

export function Navigation({ session, onSearch }: { session: Session; onSearch: () => void }) {
  const tenant = useQuery(tenantQuery);
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval: 60_000 });
  const live = tenant.data?.concurrent_calls.in_use ?? 0;
  const failing = webhooks.data?.some((hook) => hook.failing_since ?? hook.disabled_reason);
  return (
    <>
      <TenantSwitch session={session} />
      <button type="button" className={styles.search} onClick={onSearch}>
        <Search />
        Search
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label="Main" className={styles.nav}>
        {PAGES.map((group, index) => (
          <ul key={index}>
            {group.map(({ to, title, icon: Icon }) => (
              <li key={to}>
                <NavLink to={to} end={to === "/"} className={styles.link}>
                  <Icon aria-hidden="true" />
                  {title}
                </NavLink>
                {to === "/calls" && live > 0 && (
                  <span className={styles.live} title={`${live} live`} aria-hidden="true">
                    {live}
                  </span>
                )}
                {to === "/webhooks" && failing && (
                  <span className={styles.failing} title="Deliveries fail" aria-hidden="true" />
                )}
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <PersonBlock session={session} />
    </>
  );
}

function PersonBlock({ session }: { session: Session }) {
  const theme = useTheme();
  const leave = useMutation({
    mutationFn: signOut,
    // Nothing that was shown stays in the page's memory.
    onSuccess: () => window.location.reload(),
  });
  const { person, tenant } = session;
  const name = person.name || person.email || "Signed in";
  return (
    <div className={styles.person}>
      <span className={styles.avatar} aria-hidden="true">
        {initials(name)}
      </span>
      <span className={styles.who}>
        <span className={styles.name}>{name}</span>
        <span className={styles.tenant}>{tenant.name}</span>
      </span>
      <Button
        variant="ghost"
        size="small"
        icon={theme === "dark" ? <Sun /> : <Moon />}
        aria-label={theme === "dark" ? "Use light colours" : "Use dark colours"}
        title={theme === "dark" ? "Use light colours" : "Use dark colours"}
        onClick={toggleTheme}
      />
      <Button
        variant="ghost"
        size="small"
        icon={<LogOut />}
        aria-label="Sign out"
        title="Sign out"
        busy={leave.isPending}
        onClick={() => leave.mutate()}
      />
    </div>
  );
}
