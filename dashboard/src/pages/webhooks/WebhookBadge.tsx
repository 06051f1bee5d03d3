import type { Webhook } from "../../api/queries";
import { Badge } from "../../components/Badge";

/** Whether an endpoint gets its events. */
export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  if (!webhook.enabled) {
    return webhook.disabled_reason ? <Badge tone="bad">Disabled by the service</Badge> : <Badge>Disabled</Badge>;
  }
  return webhook.failing_since ? <Badge tone="warn">Failing</Badge> : <Badge tone="good">Enabled</Badge>;
}
