import { ConnectionList } from "@/gateway/ConnectionList";
import { DeliveryLog } from "@/gateway/DeliveryLog";
import { gatewayApi } from "@/gateway/gatewayApi";
import { HandoffHistory } from "@/gateway/HandoffHistory";
import { LocalRooms } from "@/gateway/LocalRooms";
import { useMessages } from "@/gateway/messages";
import { Pairing } from "@/gateway/Pairing";
import { usePolling } from "@/gateway/usePolling";

export default function Gateway({ rest }: { rest: string }) {
  const { t } = useMessages();
  const status = usePolling(gatewayApi.getStatus);
  const people = usePolling(gatewayApi.listPeople);
  const handoffs = usePolling(gatewayApi.listHandoffs);
  const deliveries = usePolling(gatewayApi.listDeliveries);
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.gateway")}</h1>
      </header>
      <p className="dim">{t("gateway.about")}</p>
      <ConnectionList polled={status} />
      <LocalRooms room={rest} />
      <Pairing polled={people} />
      <HandoffHistory polled={handoffs} />
      <DeliveryLog polled={deliveries} />
    </div>
  );
}
