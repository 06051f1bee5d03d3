import { Globe, MessageSquareText, Phone, AudioLines, Server, type LucideIcon } from "lucide-react";
import { providerInfo } from "./providers";
import styles from "./ProviderMark.module.css";

const ICONS: Record<string, LucideIcon> = {
  anthropic: MessageSquareText,
  gemini: MessageSquareText,
  openai: MessageSquareText,
  scripted: MessageSquareText,
  local: Server,
  http: Globe,
};

/** What kind of provider it is, as a small picture. Logos of other firms are theirs. */
export function ProviderMark({ provider }: { provider: string }) {
  const isCarrier = providerInfo(provider).group === "Phone carriers";
  const Icon = isCarrier ? Phone : (ICONS[provider] ?? AudioLines);
  return (
    <span className={styles.mark}>
      <Icon aria-hidden="true" />
    </span>
  );
}
