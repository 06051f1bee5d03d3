import type { Delivery } from "../../api/queries";
import { Badge } from "../../components/Badge";
import type { Tone } from "../../lib/words";

export const DELIVERY_STATES: Record<Delivery["state"], { word: string; tone: Tone }> = {
  pending: { word: "Waiting", tone: "accent" },
  sending: { word: "Sending", tone: "accent" },
  succeeded: { word: "Delivered", tone: "good" },
  failed: { word: "Failed", tone: "bad" },
  canceled: { word: "Canceled", tone: "neutral" },
};

export function DeliveryBadge({ state }: { state: Delivery["state"] }) {
  const { word, tone } = DELIVERY_STATES[state];
  return <Badge tone={tone}>{word}</Badge>;
}
