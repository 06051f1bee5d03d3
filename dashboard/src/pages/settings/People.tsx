import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { client, take } from "../../api/client";
import { isMissing } from "../../api/errors";
import { everyRow, type Person } from "../../api/queries";
import type { Role } from "../../api/session";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { InstantSelect } from "../../components/InstantSelect";
import { RelativeTime, useNow } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Table, Td, Th } from "../../components/Table";
import { useIsOwner } from "../../lib/may-change";
import { useSession } from "../../lib/use-session";
import { InviteDialog } from "./InviteDialog";
import { ROLES } from "./roles";

const KEY = ["people"];
const OPTIONS = ROLES.map(({ role, title }) => ({ value: role, title }));

/** What a person is called here: names come from the identity provider, unverified. */
function called(person: Person): string {
  return person.name ?? person.email ?? "Without a name";
}

/** Who belongs to the tenant, and what they may do. */
export function People() {
  const isOwner = useIsOwner();
  const [isInviting, setInviting] = useState(false);
  const people = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) =>
      everyRow((cursor) => take(client.GET("/v1/people", { params: { query: { limit: 100, cursor } }, signal }))),
    retry: false,
  });
  return (
    <Card
      flush
      title="People"
      note={people.data?.length}
      action={
        isOwner &&
        !people.isError && (
          <Button size="small" icon={<UserPlus />} onClick={() => setInviting(true)}>
            Invite
          </Button>
        )
      }
    >
      {people.isPending ? (
        <SkeletonRows rows={2} height={57} />
      ) : people.isError ? (
        isMissing(people.error) ? (
          <EmptyState>This service does not know people yet.</EmptyState>
        ) : (
          <ErrorNotice error={people.error} retry={() => void people.refetch()} />
        )
      ) : people.data.length === 0 ? (
        <EmptyState>Nobody has signed in yet.</EmptyState>
      ) : (
        <PeopleTable people={people.data} mayChange={isOwner} />
      )}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Card>
  );
}

function PeopleTable({ people, mayChange }: { people: Person[]; mayChange: boolean }) {
  const { person: me } = useSession();
  const [removing, setRemoving] = useState<Person | null>(null);
  return (
    <>
      <Table label="People">
        <thead>
          <tr>
            <Th>Name</Th>
            <Th>Role</Th>
            <Th hide="tablet">Last seen</Th>
            {mayChange && (
              <Th>
                <span className="visually-hidden">Actions</span>
              </Th>
            )}
          </tr>
        </thead>
        <tbody>
          {people.map((person) => (
            <tr key={person.id}>
              <Td>
                <div className={rows.name}>
                  <span className={rows.title}>
                    {called(person)} {person.id === me.id && <span className="muted">(you)</span>}
                  </span>
                  {person.email !== called(person) && (
                    <span className={rows.sub}>{person.email ?? "No verified address"}</span>
                  )}
                  {person.status === "invited" && <InvitationBadge expiresAt={person.expires_at} />}
                </div>
              </Td>
              <Td>
                <RoleSelect person={person} disabled={!mayChange} />
              </Td>
              <Td hide="tablet" muted>
                {person.last_seen_at ? <RelativeTime at={person.last_seen_at} /> : "Never"}
              </Td>
              {mayChange && (
                <Td end>
                  <Button size="small" onClick={() => setRemoving(person)}>
                    Remove
                  </Button>
                </Td>
              )}
            </tr>
          ))}
        </tbody>
      </Table>
      {removing && <RemoveDialog person={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

function InvitationBadge({ expiresAt }: { expiresAt: string | null }) {
  const now = useNow();
  if (expiresAt !== null && Date.parse(expiresAt) <= now) {
    return (
      <span>
        <Badge title="Invite the person again for a new link.">Invitation expired</Badge>
      </span>
    );
  }
  return (
    <span>
      <Badge tone="accent">Invited</Badge>
    </span>
  );
}

function RoleSelect({ person, disabled }: { person: Person; disabled: boolean }) {
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: (role: Role) =>
      take(client.PATCH("/v1/people/{id}", { params: { path: { id: person.id } }, body: { role } })),
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: KEY });
      void queryClient.invalidateQueries({ queryKey: ["session"] });
    },
  });
  if (disabled) return <>{ROLES.find(({ role }) => role === person.role)?.title ?? person.role}</>;
  return <InstantSelect label={`Role of ${called(person)}`} value={person.role} options={OPTIONS} change={change} />;
}

function RemoveDialog({ person, onClose }: { person: Person; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => take(client.DELETE("/v1/people/{id}", { params: { path: { id: person.id } } })),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: KEY });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      title={`Remove ${called(person)}?`}
      confirm="Remove"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      {person.status === "invited"
        ? "The link of the invitation no longer works."
        : "They are signed out at once. API keys that they made keep working."}
    </ConfirmDialog>
  );
}
