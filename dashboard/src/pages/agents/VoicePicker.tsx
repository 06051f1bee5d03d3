import { useMutation, useQuery } from "@tanstack/react-query";
import { LoaderCircle, Play, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { client, take } from "../../api/client";
import { asApiError, isMissing } from "../../api/errors";
import type { Voice } from "../../api/queries";
import { Button } from "../../components/Button";
import { TextField } from "../../components/Field";
import { Skeleton } from "../../components/Skeleton";
import { useMayChange } from "../../lib/may-change";
import { valueAt } from "./draft";
import { TextRow, useForm } from "./form";
import { playSample, stopSample } from "./sample";
import styles from "./VoicePicker.module.css";
import { at } from "../../lib/base";

/** Voices that are shown before somebody asks for all of them. */
const FEW = 6;
const LANGUAGES = new Intl.DisplayNames("en", { type: "language", fallback: "code" });

/** The voices of a connection to listen to and choose from; a text field where there is no list. */
export function VoicePicker({ connectionId }: { connectionId: string }) {
  const { draft, set, disabled } = useForm();
  const [filter, setFilter] = useState("");
  const [showsAll, setShowsAll] = useState(false);
  // The provider is asked at the tenant's expense, which viewers may not cause.
  const mayAsk = useMayChange() || connectionId === "local";
  const address = at(`/v1/connections/${connectionId}/voices`);
  const voices = useQuery({
    enabled: mayAsk,
    queryKey: ["connections", connectionId, "voices"],
    queryFn: ({ signal }) =>
      take(client.GET("/v1/connections/{id}/voices", { params: { path: { id: connectionId } }, signal })),
    staleTime: 10 * 60_000,
    retry: false,
  });
  const sample = useSample(address);
  const chosen = valueAt(draft, "tts.voice");
  const chosenName = typeof chosen === "string" ? chosen : null;

  if (!mayAsk) return <TextRow path="tts.voice" label="Voice" optional nullable placeholder="The connection’s" />;
  if (voices.isPending) {
    return (
      <div className={styles.grid} role="status" aria-label="Loading voices">
        {[0, 1, 2].map((each) => (
          <Skeleton key={each} height={56} />
        ))}
      </div>
    );
  }
  if (voices.isError) {
    const why = isMissing(voices.error) ? undefined : asApiError(voices.error).detail;
    return connectionId === "local" ? null : (
      <TextRow
        path="tts.voice"
        label="Voice"
        optional
        nullable
        placeholder="The connection’s"
        hint={why ?? "The provider’s name of the voice."}
      />
    );
  }

  const all = voices.data.data;
  const found = all.filter((voice) => isMatch(voice, filter));
  const shown = showsAll || filter !== "" ? found : withChosen(found, chosenName).slice(0, FEW);
  return (
    <div className={styles.picker}>
      {all.length > FEW && (
        <TextField
          label="Find a voice"
          type="search"
          placeholder="Name, language or character"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      <fieldset className={styles.grid}>
        <legend className="visually-hidden">Voice</legend>
        {shown.map((voice) => {
          const isChosen = chosenName === voice.voice || (chosenName === null && voice.default);
          const languages = voice.languages.slice(0, 2).map((tag) => LANGUAGES.of(tag) ?? tag);
          const about = [languages.join(", "), voice.description].filter(Boolean).join(" · ");
          return (
            <div key={voice.voice} className={`${styles.voice} ${isChosen ? styles.chosen : ""}`}>
              <Button
                variant="ghost"
                size="small"
                icon={
                  sample.loading === voice.voice ? (
                    <LoaderCircle />
                  ) : sample.playing === voice.voice ? (
                    <Square />
                  ) : (
                    <Play />
                  )
                }
                aria-label={sample.playing === voice.voice ? `Stop ${voice.name}` : `Listen to ${voice.name}`}
                onClick={() => sample.toggle(voice.voice)}
              />
              <label className={styles.label}>
                <input
                  type="radio"
                  name="voice"
                  className={styles.radio}
                  disabled={disabled}
                  checked={isChosen}
                  onChange={() => set("tts.voice", voice.default ? null : voice.voice)}
                />
                <span className={styles.name}>{voice.name}</span>
                {about && <span className={styles.about}>{about}</span>}
              </label>
            </div>
          );
        })}
      </fieldset>
      {found.length === 0 && <p className="muted">No voice matches.</p>}
      {filter === "" && !showsAll && all.length > FEW && (
        <div>
          <Button size="small" variant="ghost" onClick={() => setShowsAll(true)}>
            Show all {all.length} voices
          </Button>
        </div>
      )}
      {!voices.data.complete && (
        <TextRow
          path="tts.voice"
          label="Another voice"
          optional
          nullable
          hint="The provider knows more voices: enter its name."
        />
      )}
      {sample.error && (
        <p role="alert" className={styles.error}>
          {sample.error}
        </p>
      )}
    </div>
  );
}

function isMatch(voice: Voice, filter: string): boolean {
  const words = `${voice.name} ${voice.languages.join(" ")} ${voice.description ?? ""}`.toLowerCase();
  return words.includes(filter.trim().toLowerCase());
}

/** The chosen voice first, so that it is among the few. */
function withChosen(voices: Voice[], chosen: string | null): Voice[] {
  const first = voices.filter((voice) => voice.voice === chosen);
  return [...first, ...voices.filter((voice) => voice.voice !== chosen)];
}

function useSample(address: string) {
  const [playing, setPlaying] = useState<string | null>(null);
  useEffect(() => stopSample, []);
  const play = useMutation({
    mutationFn: async (voice: string) => {
      stopSample();
      setPlaying(null);
      await playSample(`${address}/${encodeURIComponent(voice)}/sample`, () => setPlaying(null));
      setPlaying(voice);
    },
  });
  return {
    playing,
    loading: play.isPending ? play.variables : null,
    error: play.error ? asApiError(play.error).detail : null,
    toggle: (voice: string) => {
      if (playing !== voice) return play.mutate(voice);
      stopSample();
      setPlaying(null);
    },
  };
}
