/** The ranges of an agent's numbers, for a message while one types. A test compares them with `docs/openapi.json`. */

export const LIMITS: Record<string, [minimum: number, maximum: number]> = {
  "llm.temperature": [0, 2],
  "llm.max_tokens": [1, 100_000],
  "tts.speed": [0.5, 2],
  "turn_taking.min_silence_ms": [100, 5_000],
  "turn_taking.max_silence_ms": [200, 10_000],
  "interruption.min_speech_ms": [50, 5_000],
  "interruption.min_words": [0, 20],
  "dtmf.digit_timeout_ms": [500, 20_000],
  "dtmf.max_digits": [1, 64],
  "silence.reprompt_after_seconds": [2, 600],
  "silence.max_reprompts": [0, 10],
  "silence.hangup_after_seconds": [5, 3_600],
  "limits.max_duration_seconds": [10, 14_400],
  "limits.ring_timeout_seconds": [5, 120],
  "privacy.retention_days": [1, 3_650],
  "tools.timeout_seconds": [1, 10],
};

/** Where a fraction is a number, too. */
const FRACTIONS = ["llm.temperature", "tts.speed"];

/** The range of a field; the place in a list does not matter. */
export function limitsOf(path: string): [number, number] | undefined {
  return LIMITS[path.replace(/\.\d+\./g, ".")];
}

/** What is wrong with a typed number, as the API would say it; nothing if it is fine or empty. */
export function numberProblem(path: string, text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) return "Must be a number.";
  if (!FRACTIONS.includes(path) && !Number.isInteger(value)) return "Must be a whole number.";
  const limits = limitsOf(path);
  if (!limits || (value >= limits[0] && value <= limits[1])) return undefined;
  return `Must be between ${limits[0].toLocaleString("en-US")} and ${limits[1].toLocaleString("en-US")}.`;
}
