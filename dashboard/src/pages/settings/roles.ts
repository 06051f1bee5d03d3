import type { Role } from "../../api/session";

export const ROLES: { role: Role; title: string; may: string }[] = [
  { role: "owner", title: "Owner", may: "Everything, also people, API keys and settings." },
  { role: "member", title: "Member", may: "Everything but people, API keys and settings." },
  { role: "viewer", title: "Viewer", may: "Look, and change nothing." },
];
