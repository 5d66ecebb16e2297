import { ConnectionList } from "@/gateway/ConnectionList";
import { DeliveryLog } from "@/gateway/DeliveryLog";
import { gatewayApi } from "@/gateway/gatewayApi";
import { HandoffHistory } from "@/gateway/HandoffHistory";
import { LocalRooms } from "@/gateway/LocalRooms";
import { useMessages } from "@/gateway/messages";
import { NetworkList } from "@/gateway/NetworkList";
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
        <h1>{t("gateway.title")}</h1>
      </header>
      <p className="dim">{t("gateway.about")}</p>
      <ConnectionList polled={status} />
      <NetworkList />
      <Pairing polled={people} />
      <LocalRooms room={rest} />
      <HandoffHistory polled={handoffs} />
      <DeliveryLog polled={deliveries} />
    </div>
  );
}
