import {
  Bot,
  ChartColumn,
  Hash,
  KeyRound,
  LayoutGrid,
  PhoneCall,
  Plug,
  SlidersHorizontal,
  Webhook,
  type LucideIcon,
} from "lucide-react";

export type Page = { to: string; title: string; icon: LucideIcon };

/** The pages in the groups of the navigation; the command palette offers them too. */
export const PAGES: Page[][] = [
  [
    { to: "/", title: "Overview", icon: LayoutGrid },
    { to: "/agents", title: "Agents", icon: Bot },
    { to: "/calls", title: "Calls", icon: PhoneCall },
  ],
  [
    { to: "/numbers", title: "Numbers", icon: Hash },
    { to: "/connections", title: "Connections", icon: Plug },
    { to: "/webhooks", title: "Webhooks", icon: Webhook },
    { to: "/api-keys", title: "API keys", icon: KeyRound },
  ],
  [
    { to: "/usage", title: "Usage", icon: ChartColumn },
    { to: "/settings", title: "Settings", icon: SlidersHorizontal },
  ],
];
