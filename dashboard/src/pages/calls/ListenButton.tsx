import { Ear, EarOff } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useSession } from "../../lib/use-session";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { Call } from "../../api/queries";
import { mayChange } from "../../api/session";
import { Button } from "../../components/Button";
import { ListeningSession } from "../../talk/listening";
import { WORKLETS } from "../../talk/worklets";
import styles from "./CallPage.module.css";

/** Hears both sides of a call that is in progress. */
export function ListenButton({ call }: { call: Call }) {
  const session = useSession();
  const [listening] = useState(
    () =>
      new ListeningSession({
        speaker: WORKLETS.speaker,
        ask: () =>
          take(client.POST("/v1/calls/{id}/listen", { params: { path: { id: call.id } } })).then(
            (answer) => answer.url,
          ),
        problem: (error) => asApiError(error).detail,
      }),
  );
  useEffect(() => listening.stop, [listening]);
  const { phase, problem } = useSyncExternalStore(listening.subscribe, () => listening.state);
  if (call.status !== "in_progress" || !mayChange(session)) return null;
  return (
    <>
      {problem && (
        <span role="alert" className={styles.problem}>
          {problem}
        </span>
      )}
      {phase === "off" ? (
        <Button icon={<Ear />} onClick={() => void listening.start()}>
          Listen
        </Button>
      ) : (
        <Button icon={<EarOff />} busy={phase === "connecting"} aria-pressed={phase === "on"} onClick={listening.stop}>
          Stop listening
        </Button>
      )}
    </>
  );
}
