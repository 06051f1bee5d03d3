import { useQuery } from "@tanstack/react-query";
import { Plus, Webhook as WebhookIcon } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { webhooksQuery, type Webhook } from "../../api/queries";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Row, Table, Td, Th } from "../../components/Table";
import { useMayChange } from "../../lib/may-change";
import { eventsWords } from "./events";
import { WebhookBadge } from "./WebhookBadge";
import { WebhookDialog } from "./WebhookDialog";

export function Component() {
  const webhooks = useQuery(webhooksQuery);
  const mayChange = useMayChange();
  const [isAdding, setAdding] = useState(false);
  const add = mayChange && (
    <Button variant="primary" icon={<Plus />} onClick={() => setAdding(true)}>
      Add endpoint
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Webhooks"
        meta="Your server learns what happens to a call. Each delivery is signed, and tried up to eight times."
        actions={webhooks.data?.length ? add : undefined}
      />
      <Card flush>
        {webhooks.isPending ? (
          <SkeletonRows rows={3} height={57} />
        ) : webhooks.isError ? (
          <ErrorNotice error={webhooks.error} retry={() => void webhooks.refetch()} />
        ) : webhooks.data.length === 0 ? (
          <EmptyState icon={<WebhookIcon />} action={add}>
            No endpoints. Add the address of your server, then send a test.
          </EmptyState>
        ) : (
          <WebhookTable webhooks={webhooks.data} />
        )}
      </Card>
      {isAdding && <WebhookDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <Table label="Webhooks">
      <thead>
        <tr>
          <Th>Endpoint</Th>
          <Th>State</Th>
          <Th hide="tablet">Failing since</Th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => (
          <Row key={webhook.id} link>
            <Td>
              <div className={rows.name}>
                <Link className={rows.title} to={`/webhooks/${webhook.id}`}>
                  {webhook.url}
                </Link>
                <span className={rows.sub}>{eventsWords(webhook.events)}</span>
              </div>
            </Td>
            <Td>
              <WebhookBadge webhook={webhook} />
            </Td>
            <Td hide="tablet" muted>
              {webhook.failing_since ? <RelativeTime at={webhook.failing_since} /> : "–"}
            </Td>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}
