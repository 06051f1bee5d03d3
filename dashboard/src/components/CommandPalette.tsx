import { Dialog } from "./Dialog";

export default function CommandPalette({ onClose }: { onClose: () => void }) {
  return <Dialog open onClose={onClose} title="Search" />;
}
