import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { client, take } from "../../api/client";
import { numbersQuery } from "../../api/queries";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Dialog } from "../../components/Dialog";
import { phone } from "../../lib/format";

/** Asks first; an agent that answers numbers names them instead. */
export function DeleteAgent({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const numbers = useQuery(numbersQuery);
  const answered = numbers.data?.filter((number) => number.inbound_agent_id === id) ?? [];
  const remove = useMutation({
    mutationFn: () => take(client.DELETE("/v1/agents/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: ["agents", id] });
      void queryClient.invalidateQueries({ queryKey: ["agents"], exact: true });
      void navigate("/agents");
    },
  });
  if (answered.length > 0) {
    return (
      <Dialog open title={`${name} cannot be deleted yet`} onClose={onClose}>
        <p>
          {name} answers{" "}
          {answered.map((number, index) => (
            <span key={number.id}>
              {index > 0 && ", "}
              <Link to={`/numbers?number=${number.id}`}>{phone(number.number)}</Link>
            </span>
          ))}
          . Choose another agent first.
        </p>
      </Dialog>
    );
  }
  return (
    <ConfirmDialog
      open
      title={`Delete “${name}”?`}
      confirm="Delete"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      Calls under way go on; new ones with this agent are refused. Past calls stay.
    </ConfirmDialog>
  );
}
