import { Dialog } from "./Dialog";
import styles from "./ShortcutList.module.css";

const SHORTCUTS: [string, [string, string][]][] = [
  [
    "Everywhere",
    [
      ["Ctrl K", "Search and commands"],
      ["G O", "Overview"],
      ["G A", "Agents"],
      ["G C", "Calls"],
      ["G N", "Numbers"],
      ["G W", "Webhooks"],
      ["G K", "API keys"],
      ["G U", "Usage"],
      ["G S", "Settings"],
      ["?", "This list"],
    ],
  ],
  [
    "Calls",
    [
      ["/", "Filter"],
      ["J K", "Next, previous row"],
      ["Enter", "Open"],
      ["] [", "Next, previous call"],
    ],
  ],
  [
    "Recording",
    [
      ["Space", "Play, pause"],
      ["← →", "1 s back, on"],
      ["Shift ← →", "10 s back, on"],
      ["M", "Mute"],
    ],
  ],
  ["Agent", [["Ctrl S", "Save"]]],
];

export default function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keys" wide>
      <div className={styles.groups}>
        {SHORTCUTS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, action]) => (
                <div key={key}>
                  <dt>{action}</dt>
                  <dd>
                    {key.split(" ").map((part) => (
                      <kbd key={part}>{part}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
