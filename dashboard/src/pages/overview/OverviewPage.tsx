import { useQuery } from "@tanstack/react-query";
import { Mic } from "lucide-react";
import { useSession } from "../../lib/use-session";
import { agentsQuery } from "../../api/queries";
import { ButtonLink } from "../../components/Button";
import { PageHeader } from "../../components/PageHeader";
import { PlaceCallButton } from "../calls/PlaceCall";
import { Attention } from "./Attention";
import { Figures } from "./Figures";
import { FirstSteps } from "./FirstSteps";
import { LatestCalls } from "./LatestCalls";
import styles from "./OverviewPage.module.css";
import { Plots } from "./Plots";

export function Component() {
  const { tenant } = useSession();
  const agents = useQuery(agentsQuery);
  const first = agents.data?.[0];
  const today = new Date().toLocaleDateString("en-GB", {
    weekday: "long",
    day: "numeric",
    month: "long",
  });
  return (
    <>
      <PageHeader
        title="Overview"
        meta={today}
        actions={
          <>
            <ButtonLink to={first ? `/agents/${first.id}?talk=1` : "/agents"} icon={<Mic />}>
              Talk to an agent
            </ButtonLink>
            <PlaceCallButton variant="primary" />
          </>
        }
      />
      <div className={styles.stack}>
        <FirstSteps tenant={tenant.id} />
        <Figures />
        <Attention />
        <Plots />
        <LatestCalls />
      </div>
    </>
  );
}
