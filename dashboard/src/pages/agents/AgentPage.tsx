import { useQuery } from "@tanstack/react-query";
import { useParams, useSearchParams } from "react-router";
import { isMissing } from "../../api/errors";
import { agentQuery } from "../../api/queries";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { SkeletonRows } from "../../components/Skeleton";
import { AgentEditor, PARENT } from "./AgentEditor";
import type { JsonObject } from "./draft";
import { templateNamed } from "./templates";

/** One agent, or a new one at `/agents/new`. */
export function Component() {
  const { id = "" } = useParams();
  const [search] = useSearchParams();
  if (id !== "new") return <ExistingAgent key={id} id={id} />;
  const template = templateNamed(search.get("template"));
  return <AgentEditor key={template.id} saved={null} template={template} />;
}

function ExistingAgent({ id }: { id: string }) {
  const agent = useQuery(agentQuery(id));
  if (agent.data) return <AgentEditor saved={agent.data as unknown as JsonObject} />;
  return (
    <>
      <PageHeader title="Agent" parent={PARENT} />
      <Card flush>
        {agent.isPending ? (
          <SkeletonRows rows={6} height={64} />
        ) : isMissing(agent.error) ? (
          <EmptyState>No such agent here.</EmptyState>
        ) : (
          <ErrorNotice error={agent.error} retry={() => void agent.refetch()} />
        )}
      </Card>
    </>
  );
}
