import { useEffect, useState } from "react";
import { SelectField } from "../components/Field";
import { microphones } from "./audio";

/** Chooses between microphones, where the browser already names several. */
export function MicrophonePicker({ onChoose }: { onChoose: (deviceId: string | undefined) => void }) {
  const [devices, setDevices] = useState<MediaDeviceInfo[]>([]);
  useEffect(() => {
    let isHere = true;
    void microphones().then((found) => isHere && setDevices(found));
    return () => {
      isHere = false;
    };
  }, []);
  if (devices.length < 2) return null;
  return (
    <SelectField label="Microphone" onChange={(event) => onChoose(event.target.value || undefined)}>
      <option value="">Default</option>
      {devices
        .filter(({ deviceId }) => deviceId !== "default")
        .map(({ deviceId, label }) => (
          <option key={deviceId} value={deviceId}>
            {label}
          </option>
        ))}
    </SelectField>
  );
}
