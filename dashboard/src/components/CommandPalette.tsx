import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { CornerDownLeft, Search } from "lucide-react";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import { agentsQuery, numbersQuery } from "../api/queries";
import { toggleTheme } from "../lib/theme";
import { openPlaceCall } from "../pages/calls/PlaceCall";
import styles from "./CommandPalette.module.css";
import { commandGroups, commandsFor, matching, type Command, type CommandGroup } from "./commands";

/** Pages, actions, agents and numbers by their names; a pasted id or number opens it. */
export default function CommandPalette(props: { onClose: () => void; onKeys: () => void }) {
  const { onClose, onKeys } = props;
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const groups = useCommands(text, onKeys, (path) => void navigate(path));
  const commands = groups.flatMap((group) => group.items);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const type = (typed: string) => {
    setText(typed);
    setChosen(0);
  };
  const key = (event: KeyboardEvent) => {
    // With an input method, Enter and the arrows choose what is typed.
    if (event.nativeEvent.isComposing || commands.length === 0) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((chosen + step + commands.length) % commands.length);
    else if (event.key === "Enter") run(commands[chosen]);
    else return;
    event.preventDefault();
  };
  const current = commands[chosen];
  useEffect(() => {
    if (current) document.getElementById(`${list}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [list, chosen, current]);
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.popup} aria-label="Search and commands" initialFocus={input}>
          <div className={styles.input}>
            <Search aria-hidden="true" />
            <input
              ref={input}
              role="combobox"
              aria-label="Search"
              aria-expanded="true"
              aria-autocomplete="list"
              aria-controls={list}
              aria-activedescendant={current && `${list}-${chosen}`}
              autoComplete="off"
              spellCheck={false}
              placeholder="Search, or paste an id or a number"
              value={text}
              onChange={(event) => type(event.target.value)}
              onKeyDown={key}
            />
          </div>
          <p role="status" className={styles.empty}>
            {commands.length === 0 ? "Nothing of this name." : ""}
          </p>
          <div role="listbox" id={list} aria-label="Commands" className={styles.list}>
            {groups.map((group) => (
              <div key={group.value} role="group" aria-label={group.value}>
                <div className={styles.label} aria-hidden="true">
                  {group.value}
                </div>
                {group.items.map((command) => (
                  <div
                    key={command.value}
                    id={`${list}-${commands.indexOf(command)}`}
                    role="option"
                    aria-selected={command === current}
                    className={styles.item}
                    onClick={() => run(command)}
                    onPointerMove={() => setChosen(commands.indexOf(command))}
                  >
                    <span>{command.label}</span>
                    {command.hint && <span className={styles.hint}>{command.hint}</span>}
                    <CornerDownLeft aria-hidden="true" />
                  </div>
                ))}
              </div>
            ))}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function useCommands(text: string, onKeys: () => void, go: (path: string) => void): CommandGroup[] {
  const agents = useQuery(agentsQuery).data ?? [];
  const numbers = useQuery(numbersQuery).data ?? [];
  const act = { go, placeCall: (to?: string) => openPlaceCall({ to }), keys: onKeys, theme: toggleTheme };
  const direct = commandsFor(text, agents, act);
  if (direct.length > 0) return [{ value: "Open", items: direct }];
  return matching(commandGroups(agents, numbers, act), text);
}
