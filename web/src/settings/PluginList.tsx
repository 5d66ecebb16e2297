import { useQuery } from "@tanstack/react-query";
import { getJson } from "@/api/http";
import { queryClient } from "@/api/query";
import type { PluginSchema } from "@/api/schema";
import { ErrorMessage } from "@/components/ErrorMessage";
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
      <div className="scroll-x" tabIndex={0} role="region" aria-label={t("settings.plugins")}>
        <table>
          <tbody>
            {data?.map((plugin) => (
              <tr key={plugin.name}>
                <td>
                  <strong>{plugin.name}</strong>
                </td>
                <td>
                  {texts?.plugins[plugin.name] ?? plugin.summary}
                  {plugin.problem && <p className="problem-text">{plugin.problem}</p>}
                </td>
                <td className="number">
                  <span className={plugin.problem ? "pill bad" : "pill"}>
                    {plugin.problem ? t("settings.failed") : t("settings.loaded")}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
