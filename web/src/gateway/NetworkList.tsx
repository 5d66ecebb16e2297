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

const ASKED_FOR_FIRST = ["telegram", "whatsapp", "signal", "discord", "slack", "matrix", "email", "teams"];

/** What is set up, what most people look for, and the rest by the names on screen. */
export function compareNetworks(a: Network, b: Network): number {
  const rank = ({ name, is_configured }: Network) => {
    const place = ASKED_FOR_FIRST.indexOf(name);
    return is_configured ? -1 : place < 0 ? ASKED_FOR_FIRST.length : place;
  };
  return rank(a) - rank(b) || getSourceLabel(a.name).localeCompare(getSourceLabel(b.name));
}

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
    .sort(compareNetworks);
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
