import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { client, take } from "../../api/client";
import { apiKeysQuery } from "../../api/queries";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime, useNow } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Table, Td, Th } from "../../components/Table";
import { useIsOwner } from "../../lib/may-change";
import { CreateKeyDialog } from "./CreateKeyDialog";
import { isUsable, keyState, type ApiKey } from "./key-state";

export function Component() {
  const keys = useQuery(apiKeysQuery);
  const isOwner = useIsOwner();
  const now = useNow();
  // Other pages lead here to create one.
  const [search, setSearch] = useSearchParams();
  const isCreating = search.has("new");
  const setCreating = (creating: boolean) => setSearch(creating ? { new: "1" } : {}, { replace: true });
  const [showsOld, setShowsOld] = useState(false);

  const usable = keys.data?.filter((key) => isUsable(key, now)) ?? [];
  const old = keys.data?.filter((key) => !isUsable(key, now)) ?? [];
  const create = isOwner && (
    <Button variant="primary" icon={<Plus />} onClick={() => setCreating(true)}>
      Create key
    </Button>
  );

  return (
    <>
      <PageHeader
        title="API keys"
        meta="Programs sign in with a key. Everything on these pages works through the API, too."
        actions={keys.data?.length ? create : undefined}
      />
      <div className={rows.stack}>
        <Card flush>
          {keys.isPending ? (
            <SkeletonRows rows={3} height={53} />
          ) : keys.isError ? (
            <ErrorNotice error={keys.error} retry={() => void keys.refetch()} />
          ) : usable.length === 0 ? (
            <EmptyState icon={<KeyRound />} action={create}>
              {old.length === 0
                ? "No API keys. A program needs one to place calls; it is shown once."
                : "No key works any more. Create one for your programs."}
            </EmptyState>
          ) : (
            <KeyTable label="API keys" keys={usable} mayRevoke={isOwner} />
          )}
        </Card>
        {old.length > 0 && (
          <div>
            <Button variant="ghost" size="small" aria-expanded={showsOld} onClick={() => setShowsOld(!showsOld)}>
              {showsOld ? "Hide" : "Show"} revoked and expired keys ({old.length})
            </Button>
          </div>
        )}
        {showsOld && old.length > 0 && (
          <Card flush title="Revoked and expired">
            <KeyTable label="Revoked and expired keys" keys={old} mayRevoke={false} />
          </Card>
        )}
      </div>
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function KeyTable({ label, keys, mayRevoke }: { label: string; keys: ApiKey[]; mayRevoke: boolean }) {
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  return (
    <>
      <Table label={label}>
        <thead>
          <tr>
            <Th>Name</Th>
            <Th hide="phone">Prefix</Th>
            <Th hide="phone">Last used</Th>
            <Th hide="tablet">Created</Th>
            <Th hide="phone">Expires</Th>
            {mayRevoke && (
              <Th>
                <span className="visually-hidden">Actions</span>
              </Th>
            )}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <Td>
                <div className={rows.name}>
                  <span className={rows.title}>{key.name ?? "Unnamed"}</span>
                  <span className={`${rows.sub} ${rows.onPhone}`}>
                    <span className="mono">{key.prefix}</span> · <LastUse at={key.last_used_at} />
                  </span>
                  <span className={`${rows.sub} ${rows.onPhone}`}>
                    <Expiry apiKey={key} />
                  </span>
                </div>
              </Td>
              <Td hide="phone">
                <code>{key.prefix}</code>
              </Td>
              <Td hide="phone" muted>
                <LastUse at={key.last_used_at} />
              </Td>
              <Td hide="tablet" muted>
                <RelativeTime at={key.created_at} />
              </Td>
              <Td hide="phone" muted>
                <Expiry apiKey={key} />
              </Td>
              {mayRevoke && (
                <Td end>
                  <Button size="small" onClick={() => setRevoking(key)}>
                    Revoke
                  </Button>
                </Td>
              )}
            </tr>
          ))}
        </tbody>
      </Table>
      {revoking && <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function LastUse({ at }: { at: string | null }) {
  return at ? <RelativeTime at={at} /> : <>Never used</>;
}

function Expiry({ apiKey }: { apiKey: ApiKey }) {
  const state = keyState(apiKey, useNow());
  if (state === "revoked") return <Badge>Revoked</Badge>;
  if (state === "expired") return <Badge>Expired</Badge>;
  if (!apiKey.expires_at) return <>Never expires</>;
  const when = <RelativeTime at={apiKey.expires_at} />;
  if (state === "active") return when;
  return (
    <Badge tone="warn">
      <span>Expires {when}</span>
    </Badge>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const queryClient = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => take(client.DELETE("/v1/api-keys/{id}", { params: { path: { id: apiKey.id } } })),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: apiKeysQuery.queryKey });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      title={`Revoke “${apiKey.name ?? apiKey.prefix}”?`}
      confirm="Revoke"
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      Programs that use it get 401 at once. A revoked key cannot be restored.
    </ConfirmDialog>
  );
}
