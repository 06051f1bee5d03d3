import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, take } from "../../api/client";
import { asApiError, isMissing } from "../../api/errors";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorNotice, ErrorText } from "../../components/ErrorNotice";
import { Notice } from "../../components/Notice";
import { RelativeTime } from "../../components/RelativeTime";
import { SkeletonRows } from "../../components/Skeleton";
import { plural } from "../../lib/format";
import { writeJson } from "../../lib/json";
import { differences, diffLines, labelOf, type Change, type Json, type JsonObject } from "./draft";
import { shareOf, trafficOf, type TrafficPart } from "./traffic";
import styles from "./Versions.module.css";

type VersionsProps = {
  agent: JsonObject;
  mayRestore: boolean;
  /** Whether rolling back would lose what was typed. */
  hasChanges: boolean;
  onRestored: () => void;
  /** After other versions get the calls. */
  onTrafficChanged: () => void;
  onClose: () => void;
};

/** Every version of an agent, and what differs between one of them and the newest. */
export function Versions({ agent, mayRestore, hasChanges, onRestored, onTrafficChanged, onClose }: VersionsProps) {
  const id = String(agent.id);
  const [chosen, setChosen] = useState<number | null>(null);
  const versions = useInfiniteQuery({
    queryKey: ["agents", id, "versions"],
    queryFn: ({ pageParam, signal }) =>
      take(
        client.GET("/v1/agents/{id}/versions", {
          params: { path: { id }, query: { limit: 50, cursor: pageParam ?? undefined } },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    retry: false,
  });
  const restore = useMutation({
    mutationFn: (version: number) =>
      take(client.POST("/v1/agents/{id}/versions/{version}/restore", { params: { path: { id, version } } })),
    onSuccess: onRestored,
  });
  const traffic = trafficOf(agent);
  const setTraffic = useMutation({
    mutationFn: (wanted: TrafficPart[] | null) =>
      take(client.PATCH("/v1/agents/{id}", { params: { path: { id } }, body: { traffic: wanted } })),
    onSuccess: onTrafficChanged,
  });
  const list = versions.data?.pages.flatMap((page) => page.data) ?? [];
  const isOld = chosen !== null && chosen !== agent.version;
  return (
    <Dialog
      open
      wide
      title="Versions"
      onClose={onClose}
      actions={
        mayRestore &&
        (isOld || traffic !== null) && (
          <>
            {isOld && hasChanges && <span className={styles.loss}>Your unsaved changes will be lost.</span>}
            {traffic !== null && (
              <Button busy={setTraffic.isPending} onClick={() => setTraffic.mutate(null)}>
                Send new calls to the newest version
              </Button>
            )}
            {isOld && shareOf(agent, chosen) < 100 && (
              <Button
                busy={setTraffic.isPending}
                onClick={() => setTraffic.mutate([{ version: chosen, percent: 100 }])}
              >
                Send all new calls to version {chosen}
              </Button>
            )}
            {isOld && (
              <Button variant="primary" busy={restore.isPending} onClick={() => restore.mutate(chosen)}>
                {/* While calls are pinned or split, the version that this creates gets none. */}
                {traffic === null ? "Roll back to version" : "Restore version"} {chosen}
              </Button>
            )}
          </>
        )
      }
    >
      {versions.isPending && <SkeletonRows rows={5} />}
      {versions.isError &&
        (isMissing(versions.error) ? (
          <Notice>This service does not show the versions of an agent yet.</Notice>
        ) : (
          <ErrorNotice error={versions.error} retry={() => void versions.refetch()} />
        ))}
      {restore.isError && <ErrorText error={asApiError(restore.error)} />}
      {setTraffic.isError && <ErrorText error={asApiError(setTraffic.error)} />}
      {list.length > 0 && (
        <div className={styles.columns}>
          <ol className={styles.list} aria-label="Versions">
            {list.map((version) => (
              <li key={version.version}>
                <button
                  type="button"
                  className={styles.version}
                  aria-pressed={chosen === version.version}
                  onClick={() => setChosen(version.version)}
                >
                  <span className={styles.head}>
                    Version {version.version}
                    {version.version === agent.version && <Badge tone="good">Newest</Badge>}
                    {traffic !== null && shareOf(agent, version.version) > 0 && (
                      <Badge tone="warn">{shareOf(agent, version.version)} % of calls</Badge>
                    )}
                  </span>
                  <span className={styles.meta}>
                    <RelativeTime at={version.created_at} />
                  </span>
                  <span className={styles.meta}>{changedWords(version.changed)}</span>
                </button>
              </li>
            ))}
            {versions.hasNextPage && (
              <li>
                <Button size="small" busy={versions.isFetchingNextPage} onClick={() => void versions.fetchNextPage()}>
                  Show older
                </Button>
              </li>
            )}
          </ol>
          <div className={styles.difference}>
            {chosen === null ? (
              <p className="muted">Choose a version to compare it with the newest.</p>
            ) : isOld ? (
              <Difference id={id} version={chosen} present={agent} />
            ) : (
              <p className="muted">This is the newest version.</p>
            )}
          </div>
        </div>
      )}
    </Dialog>
  );
}

function changedWords(changed: string[]): string {
  if (changed.length === 0) return "Created";
  const first = labelOf(changed[0] ?? "");
  return changed.length === 1 ? first : `${first} and ${plural(changed.length - 1, "other field")}`;
}

function Difference({ id, version, present }: { id: string; version: number; present: JsonObject }) {
  const old = useQuery({
    queryKey: ["agents", id, "versions", version],
    queryFn: async ({ signal }) => {
      const path = { id, version };
      return (await take(client.GET("/v1/agents/{id}/versions/{version}", { params: { path }, signal }))) as JsonObject;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (old.isPending) return <SkeletonRows rows={3} />;
  if (old.isError) return <ErrorNotice error={old.error} retry={() => void old.refetch()} />;
  const changes = differences(old.data, present);
  if (changes.length === 0) return <p className="muted">The same as the newest version.</p>;
  return (
    <dl className={styles.changes}>
      {changes.map((change) => (
        <div key={change.path}>
          <dt>{labelOf(change.path)}</dt>
          <dd>
            <Diff change={change} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Diff({ change }: { change: Change }) {
  const lines = diffLines(shown(change.before), shown(change.after));
  return (
    <div className={styles.lines}>
      {lines.map((line, index) => (
        <div key={index} className={styles[line.kind]}>
          <span className={styles.sign} aria-label={line.kind === "same" ? undefined : line.kind}>
            {line.kind === "removed" ? "−" : line.kind === "added" ? "+" : ""}
          </span>
          <span>{line.text || " "}</span>
        </div>
      ))}
    </div>
  );
}

function shown(value: Json): string {
  if (value === null) return "not set";
  return typeof value === "string" ? value : writeJson(value, 2);
}
