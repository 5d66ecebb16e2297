import { gatewayApi } from "@/gateway/gatewayApi";
import { Handoffs, Ledger } from "@/gateway/History";
import { Lines } from "@/gateway/Lines";
import { Pairing } from "@/gateway/Pairing";
import { Rooms } from "@/gateway/Room";
import { useBeat } from "@/gateway/useBeat";
import { useWords } from "@/i18n";

export default function Gateway({ rest }: { rest: string }) {
  const { t } = useWords();
  const status = useBeat(gatewayApi.status);
  const people = useBeat(gatewayApi.people);
  const handoffs = useBeat(gatewayApi.handoffs);
  const deliveries = useBeat(gatewayApi.deliveries);
  return (
    <div className="page">
      <header className="page-head"><h1>{t("nav.gateway")}</h1></header>
      <p className="dim">{t("gateway.about")}</p>
      <Lines beat={status} />
      <Rooms room={rest} />
      <Pairing beat={people} />
      <Handoffs beat={handoffs} />
      <Ledger beat={deliveries} />
    </div>
  );
}
