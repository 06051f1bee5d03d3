import { Checkbox } from "../../../components/Checkbox";
import { valueAt } from "../draft";
import { CheckRow, NumberRow, useForm } from "../form";
import { Section } from "./Section";
import styles from "./Privacy.module.css";

const KINDS = [
  { kind: "card_numbers", label: "Card numbers" },
  { kind: "phone_numbers", label: "Phone numbers" },
  { kind: "email_addresses", label: "E-mail addresses" },
  { kind: "digits", label: "Digits, four or more" },
  { kind: "dtmf", label: "Keys that callers press" },
];

export function Privacy() {
  const { draft, set, disabled } = useForm();
  const value = valueAt(draft, "privacy.redact");
  const redacted = Array.isArray(value) ? value : [];
  return (
    <Section id="privacy">
      <CheckRow path="recording.enabled" label="Recording" hint="Keep a stereo WAV: caller left, agent right." />
      <fieldset className={styles.kinds}>
        <legend>Redact</legend>
        <p className="muted">Removed from everything that is stored, except recordings.</p>
        {KINDS.map(({ kind, label }) => (
          <Checkbox
            key={kind}
            label={label}
            disabled={disabled}
            checked={redacted.includes(kind)}
            onChange={(event) =>
              set(
                "privacy.redact",
                event.target.checked ? [...redacted, kind] : redacted.filter((each) => each !== kind),
              )
            }
          />
        ))}
      </fieldset>
      <NumberRow
        path="privacy.retention_days"
        label="Retention (days)"
        optional
        placeholder="For ever"
        hint="Days after a call until its words are deleted."
      />
    </Section>
  );
}
