import type { Call } from "../../api/queries";
import { isLive } from "../../api/calls";
import { Card } from "../../components/Card";
import { cost, count, duration } from "../../lib/format";
import styles from "./CallPage.module.css";

type Usage = NonNullable<Call["usage"]>;

type Part = { name: string; amount: string; usd: number | null; colour: string };

/** What the call cost, by part. */
export function CostCard({ call }: { call: Call }) {
  const usage = call.usage;
  if (!usage) {
    return (
      <Card title="Cost">
        <p className="muted">{isLive(call) ? "Known when the call has ended." : "Nothing was used."}</p>
      </Card>
    );
  }
  const parts = partsOf(usage, call);
  const priced = parts.filter((part) => part.usd !== null && part.usd > 0);
  return (
    <Card title="Cost" action={<span className={styles.total}>{cost(usage.cost_usd, usage.unpriced)}</span>}>
      {priced.length > 0 && (
        <div className={styles.split} aria-hidden="true">
          {priced.map((part) => (
            <span key={part.name} style={{ flexGrow: part.usd ?? 0, background: `var(${part.colour})` }} />
          ))}
        </div>
      )}
      <ul className={styles.parts}>
        {parts.map((part) => (
          <li key={part.name}>
            <span>
              <span className={styles.swatch} style={{ background: `var(${part.colour})` }} />
              {part.name}
            </span>
            <span>{part.amount}</span>
            <span>{cost(part.usd)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function partsOf(usage: Usage, call: Call): Part[] {
  const { costs } = usage;
  const tokens = usage.llm_input_tokens + usage.llm_output_tokens;
  const audio = usage.audio_input_tokens + usage.audio_output_tokens;
  const heard = Math.round(usage.stt_audio_ms / 1000);
  const spoken = usage.tts_characters;
  const parts: (Part & { used: boolean })[] = [
    {
      name: "Speech to text",
      amount: duration(heard),
      usd: costs.stt_usd,
      colour: "--stage-turn",
      used: heard > 0,
    },
    {
      name: "Language model",
      amount: `${count(tokens)} tokens`,
      usd: costs.llm_usd,
      colour: "--stage-model",
      used: tokens > 0 || costs.llm_usd > 0,
    },
    {
      name: "Text to speech",
      amount: `${count(spoken)} characters`,
      usd: costs.tts_usd,
      colour: "--stage-voice",
      used: spoken > 0,
    },
    {
      name: "Speech-to-speech",
      amount: `${count(audio)} tokens`,
      usd: costs.realtime_usd,
      colour: "--stage-play",
      used: audio > 0 || costs.realtime_usd > 0,
    },
    {
      name: "Carrier",
      amount: duration(call.duration_seconds),
      usd: costs.carrier_usd,
      colour: "--wave-caller",
      used: call.answered_at !== null,
    },
  ];
  return parts.filter((part) => part.used);
}
