import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queryClient } from "@/api/query";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/gateway/messages";
import { NetworkDialog } from "@/gateway/NetworkDialog";
import { type Network, networksApi } from "@/gateway/networksApi";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./NetworkList.module.css";

/** Every chat network, whether it is set up, and a wizard for each. Nothing is restarted. */
export function NetworkList() {
  const { t } = useMessages();
  const { data, error, refetch } = useQuery(
    { queryKey: ["networks"], queryFn: ({ signal }) => networksApi.list(signal) },
    queryClient,
  );
  const texts = useServerTexts();
  const [open, setOpen] = useState<string | null>(null);
  const networks = [...(data ?? [])]
    .filter((network) => network.fields.length > 0 || network.can_sign_in)
    .sort((a, b) => Number(b.is_configured) - Number(a.is_configured) || a.name.localeCompare(b.name));
  const opened = networks.find((network) => network.name === open);
  return (
    <section aria-labelledby="networks-heading">
      <h2 id="networks-heading">{t("networks.title")}</h2>
      <p className="dim">{t("networks.about")}</p>
      <ErrorMessage error={error} retry={() => void refetch()} />
      <ul className={css.networks}>
        {networks.map((network) => (
          <li key={network.name}>
            <button className={css.network} data-network={network.name} onClick={() => setOpen(network.name)}>
              <strong>{getSourceLabel(network.name)}</strong>
              <span className="dim">{texts?.plugins[network.name] ?? network.summary}</span>
              <NetworkState network={network} />
            </button>
          </li>
        ))}
      </ul>
      {opened && <NetworkDialog network={opened} close={() => setOpen(null)} onChange={() => void refetch()} />}
    </section>
  );
}

function NetworkState({ network }: { network: Network }) {
  const { t } = useMessages();
  const problem = typeof network.line === "object" && network.line ? network.line.problem : "";
  if (!network.is_configured) return <span className="pill">{t("networks.notset")}</span>;
  if (problem) return <span className="pill bad">{t("networks.failing", { why: problem })}</span>;
  return <span className="pill good">{t("networks.set")}</span>;
}
