import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Download, PhoneOff } from "lucide-react";
import { useEffect, useState } from "react";
import { useLocation, useParams } from "react-router";
import { callQuery, isLive, transcriptQuery } from "../../api/calls";
import { asApiError } from "../../api/errors";
import { agentsQuery, type Call } from "../../api/queries";
import { StatusBadge } from "../../components/Badge";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime } from "../../components/RelativeTime";
import { Skeleton } from "../../components/Skeleton";
import { phone, shortId } from "../../lib/format";
import { useKeys } from "../../lib/keyboard";
import { useParameters } from "../../lib/use-parameters";
import { endWords } from "../../lib/words";
import { CallSummary } from "./CallSummary";
import styles from "./CallPage.module.css";
import { CostCard } from "./CostCard";
import { DecisionsCard } from "./DecisionsCard";
import { DetailsCard } from "./DetailsCard";
import { EventsCard } from "./EventsCard";
import { Failure } from "./Failure";
import { ListenButton } from "./ListenButton";
import { HangUpButton, LiveControls } from "./LiveControls";
import { PlaceCallButton } from "./PlaceCall";
import { PlaybackContext, usePlaybackOf } from "./playback";
import { ResponseCard } from "./ResponseCard";
import { TranscriptCard } from "./TranscriptCard";
import { agentName, DirectionIcon, isWeb, Length, otherParty, partyName } from "./cells";
import { useLiveTranscript } from "./live";
import { useNeighbours, type Neighbours } from "./neighbours";

export function Component() {
  const { id = "" } = useParams();
  const call = useQuery(callQuery(id));
  const neighbours = useNeighbours(id);
  // Also while a call loads, so that one can leaf through the list quickly.
  useKeys({ "]": neighbours.openOlder, "[": neighbours.openNewer });
  if (call.data) return <CallView key={id} call={call.data} neighbours={neighbours} />;
  const missing = call.error && [404, 422].includes(asApiError(call.error).status);
  return (
    <>
      <PageHeader title="Call" parent={{ title: "Calls", to: "/calls" }} crumb={shortId(id)} />
      <Card>
        {missing ? (
          <EmptyState icon={<PhoneOff />} action={<ButtonLink to="/calls">All calls</ButtonLink>}>
            No such call here.
          </EmptyState>
        ) : call.error ? (
          <ErrorNotice error={call.error} retry={() => void call.refetch()} />
        ) : (
          <Skeleton height={220} />
        )}
      </Card>
    </>
  );
}

function CallView({ call, neighbours }: { call: Call; neighbours: Neighbours }) {
  const { state } = useLocation();
  const [search, setParameters] = useParameters({ replace: true, preventScrollReset: true, state });
  const agents = useQuery(agentsQuery);
  const live = isLive(call);
  const transcript = useQuery(transcriptQuery(call.id));
  useLiveTranscript(call, live);
  const playback = usePlaybackOf(call.recording_url);
  // Where the address says; afterwards the address follows.
  const [start] = useState(() => Number(search.get("t") ?? 0));
  useEffect(() => {
    if (start > 0) playback?.seek(start);
  }, [playback, start]);

  const go = (seconds: number) => {
    playback?.seek(seconds);
    setParameters({ t: seconds.toFixed(1) });
  };
  const openTurn = (turn: number | null, at?: number) => {
    const shown = { turn: turn === null ? null : String(turn + 1) };
    if (at === undefined) return setParameters(shown);
    playback?.seek(at);
    setParameters({ ...shown, t: at.toFixed(1) });
  };
  useKeys({
    " ": (event) => {
      if ((event.target as HTMLElement).closest("button, a, summary")) return;
      event.preventDefault();
      playback?.toggle();
    },
    ArrowLeft: (event) => playback?.seek(playback.time - (event.shiftKey ? 10 : 1)),
    ArrowRight: (event) => playback?.seek(playback.time + (event.shiftKey ? 10 : 1)),
    m: () => playback?.mute(),
  });
  const agent = agentName(agents.data, call.agent_id);
  const turn = Number(search.get("turn"));
  return (
    <PlaybackContext value={playback}>
      <Header call={call} live={live} agent={agent} neighbours={neighbours} />
      <div className={styles.stack}>
        {call.status === "failed" && <Failure call={call} />}
        <CallSummary call={call} transcript={transcript.data} onSeek={go} />
        {live && <LiveControls call={call} />}
        <div className={styles.columns}>
          <TranscriptCard
            call={call}
            agent={agent || "Agent"}
            transcript={transcript.data}
            error={transcript.error}
            retry={() => void transcript.refetch()}
            live={live}
            onSeek={go}
          />
          <div className={styles.side}>
            <ResponseCard
              call={call}
              transcript={transcript.data}
              open={turn > 0 ? turn - 1 : null}
              onOpen={openTurn}
            />
            <EventsCard call={call} live={live} />
          </div>
        </div>
        {!live && <DecisionsCard call={call} onSeek={go} />}
        <div className={styles.pair}>
          <CostCard call={call} />
          <DetailsCard call={call} />
        </div>
      </div>
    </PlaybackContext>
  );
}

function Header(props: { call: Call; live: boolean; agent: string; neighbours: Neighbours }) {
  const { call, live, agent } = props;
  const { list, openNewer, openOlder } = props.neighbours;
  const parent = { title: "Calls", to: list ? `/calls?${list}` : "/calls" };
  const end = endWords(call);
  const other = call.direction === "inbound" ? `to ${phone(call.to)}` : `from ${phone(call.from)}`;
  return (
    <PageHeader
      title={partyName(call)}
      shown={
        <span className={styles.party}>
          <DirectionIcon call={call} />
          {partyName(call)}
        </span>
      }
      badge={<StatusBadge status={call.status} />}
      parent={parent}
      crumb={shortId(call.id)}
      meta={
        <>
          <strong className={styles.agent}>{agent}</strong> version {call.agent_version}
          {!isWeb(call) && <> · {other}</>} · <RelativeTime at={call.created_at} />
          {(live || call.answered_at) && (
            <>
              {" "}
              · <Length call={call} />
            </>
          )}
          {end && <> · {end.charAt(0).toLowerCase() + end.slice(1)}</>}
        </>
      }
      actions={
        <>
          {(openNewer ?? openOlder) && (
            <span className={styles.neighbours}>
              <Button
                variant="ghost"
                icon={<ChevronLeft />}
                aria-label="Newer call"
                title="Newer call ( [ )"
                disabled={!openNewer}
                onClick={openNewer}
              />
              <Button
                variant="ghost"
                icon={<ChevronRight />}
                aria-label="Older call"
                title="Older call ( ] )"
                disabled={!openOlder}
                onClick={openOlder}
              />
            </span>
          )}
          {call.recording_url && (
            <ButtonLink
              to={call.recording_url}
              reloadDocument
              download={`call-${shortId(call.id)}.wav`}
              icon={<Download />}
            >
              Recording
            </ButtonLink>
          )}
          {live ? (
            <>
              <ListenButton call={call} />
              <HangUpButton call={call} />
            </>
          ) : (
            !isWeb(call) && (
              <PlaceCallButton
                variant="primary"
                draft={{
                  to: otherParty(call),
                  agentId: call.agent_id,
                  variables: call.variables as Record<string, string | number | boolean>,
                }}
              >
                Call again
              </PlaceCallButton>
            )
          )}
        </>
      }
    />
  );
}
