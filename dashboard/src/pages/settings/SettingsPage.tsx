import { PageHeader } from "../../components/PageHeader";

export function Component() {
  return <PageHeader title="Settings" />;
}
