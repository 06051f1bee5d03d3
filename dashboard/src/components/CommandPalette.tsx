import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { CornerDownLeft, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { agentsQuery, numbersQuery } from "../api/queries";
import { toggleTheme } from "../lib/theme";
import { openPlaceCall } from "../pages/calls/PlaceCall";
import styles from "./CommandPalette.module.css";
import { commandGroups, commandsFor, type Command, type CommandGroup } from "./commands";

/** Pages, actions, agents and numbers by their names; a pasted id or number opens it. */
export default function CommandPalette(props: { onClose: () => void; onKeys: () => void }) {
  const { onClose, onKeys } = props;
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const agents = useQuery(agentsQuery).data;
  const numbers = useQuery(numbersQuery).data;
  const groups = useMemo(() => {
    const act = {
      go: (path: string) => void navigate(path),
      placeCall: (to?: string) => openPlaceCall({ to }),
      keys: onKeys,
      theme: toggleTheme,
    };
    const all = commandGroups(agents ?? [], numbers ?? [], act);
    const direct = commandsFor(text, agents ?? [], act);
    return direct.length > 0 ? [{ value: "Open", items: direct }, ...all] : all;
  }, [agents, numbers, navigate, onKeys, text]);
  const run = (command: Command) => {
    onClose();
    command.run();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.popup} aria-label="Search and commands">
          <Autocomplete.Root
            open
            inline
            autoHighlight="always"
            keepHighlight
            items={groups}
            value={text}
            onValueChange={setText}
            filter={matches}
            itemToStringValue={(item: unknown) => (item as Command).label}
          >
            <div className={styles.input}>
              <Search aria-hidden="true" />
              <Autocomplete.Input
                aria-label="Search"
                placeholder="Search, or paste an id or a number"
              />
            </div>
            <Autocomplete.Empty className={styles.empty}>Nothing of this name.</Autocomplete.Empty>
            <Autocomplete.List className={styles.list}>
              {(group: CommandGroup) => (
                <Autocomplete.Group key={group.value} items={group.items} className={styles.group}>
                  <Autocomplete.GroupLabel className={styles.label}>
                    {group.value}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(item: Command) => (
                      <Autocomplete.Item
                        key={item.value}
                        value={item}
                        className={styles.item}
                        onClick={() => run(item)}
                      >
                        <span>{item.label}</span>
                        {item.hint && <span className={styles.hint}>{item.hint}</span>}
                        <CornerDownLeft aria-hidden="true" />
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Every typed word stands somewhere in the label; digits match whatever groups them. */
function matches(item: unknown, typed: string): boolean {
  const { label, value } = item as Command;
  // What a pasted id or number may open is no matter of names.
  if (value.endsWith(typed.trim()) && typed.trim().length > 7) return true;
  const name = label.toLowerCase();
  const bare = name.replaceAll(" ", "");
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => name.includes(word) || bare.includes(word));
}
