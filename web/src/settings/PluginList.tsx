import { useQuery } from "@tanstack/react-query";
import { getJson } from "@/api/http";
import { queryClient } from "@/api/query";
import type { PluginSchema } from "@/api/schema";
import { ErrorMessage } from "@/components/ErrorMessage";
import { InlineCode } from "@/components/InlineCode";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { useMessages } from "@/settings/messages";

/** What is built in and installed, and why something could not be loaded. */
export function PluginList() {
  const { t } = useMessages();
  const texts = useServerTexts();
  const { data, error } = useQuery(
    { queryKey: ["plugins"], queryFn: ({ signal }) => getJson<PluginSchema[]>("/api/plugins", signal) },
    queryClient,
  );
  return (
    <section className="card">
      <h2>{t("settings.plugins")}</h2>
      <ErrorMessage error={error} />
      <ul className="item-list">
        {data?.map((plugin) => (
          <li key={plugin.name}>
            <div className="grow">
              <p>
                <strong>{plugin.name}</strong>
              </p>
              <p className="dim">
                <InlineCode text={texts?.plugins[plugin.name] ?? plugin.summary} />
              </p>
              {plugin.problem && <p className="problem-text">{plugin.problem}</p>}
            </div>
            <span className={plugin.problem ? "pill bad" : "pill"}>
              {plugin.problem ? t("settings.failed") : t("settings.loaded")}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
