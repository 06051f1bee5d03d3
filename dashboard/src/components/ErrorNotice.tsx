import { RotateCw, TriangleAlert } from "lucide-react";
import { asApiError, type ApiError } from "../api/errors";
import { Button } from "./Button";
import { CopyId } from "./CopyButton";
import styles from "./ErrorNotice.module.css";

/** One line below a form or in a dialog. */
export function ErrorText({ error }: { error: ApiError }) {
  return (
    <p role="alert" className={styles.text}>
      {error.detail}
    </p>
  );
}

/** In the card whose content could not be read. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const failure = asApiError(error);
  return (
    <div role="alert" className={styles.notice}>
      <TriangleAlert />
      <div>
        <p>{failure.detail}</p>
        {failure.requestId && (
          <p className={styles.request}>
            Request <CopyId name="request" value={failure.requestId} />
          </p>
        )}
      </div>
      {retry && (
        <Button size="small" icon={<RotateCw />} onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}
