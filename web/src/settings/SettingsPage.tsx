import { LastingApprovals } from "@/approvals/LastingApprovals";
import { useIsPhone } from "@/components/useIsPhone";
import { NotificationSettings } from "@/notifications/NotificationSettings";
import { PluginSwitches } from "@/plugins/PluginSwitches";
import { followLink } from "@/router";
import { HealthSection } from "@/settings/HealthSection";
import { ModelsSection } from "@/settings/ModelsSection";
import { type MessageKey, useMessages } from "@/settings/messages";
import { PluginList } from "@/settings/PluginList";
import { SandboxReport } from "@/settings/SandboxReport";
import { SettingsTable } from "@/settings/SettingsTable";
import { SignedInBrowsers } from "@/settings/SignedInBrowsers";
import { SignOutButton } from "@/settings/SignOutButton";
import { ToolsSection } from "@/settings/ToolsSection";
import css from "./SettingsPage.module.css";

const SECTIONS: Array<[string, MessageKey]> = [
  ["models", "settings.section.models"],
  ["tools", "settings.section.tools"],
  ["general", "settings.section.general"],
  ["security", "settings.section.security"],
  ["plugins", "settings.section.plugins"],
  ["health", "settings.section.health"],
];

/** Everything that can be set up, in sections: `/settings/models` and so on. */
export default function SettingsPage({ rest }: { rest: string }) {
  const { t } = useMessages();
  const isPhone = useIsPhone();
  const section = SECTIONS.some(([name]) => name === rest) ? rest : "models";
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.settings")}</h1>
        <SignOutButton />
      </header>
      <div className={css.settingsLayout}>
        <nav className={css.settingsNav} aria-label={t("nav.settings")} data-phone={isPhone || undefined}>
          {SECTIONS.map(([name, label]) => (
            <a
              key={name}
              href={`/settings/${name}`}
              onClick={followLink}
              aria-current={section === name ? "page" : undefined}
            >
              {t(label)}
            </a>
          ))}
        </nav>
        <div className={css.settingsBody}>
          {section === "models" && <ModelsSection />}
          {section === "tools" && <ToolsSection />}
          {section === "general" && (
            <>
              <NotificationSettings />
              <SettingsTable />
            </>
          )}
          {section === "security" && (
            <>
              <LastingApprovals />
              <SandboxReport />
              <SignedInBrowsers />
            </>
          )}
          {section === "plugins" && (
            <>
              <PluginSwitches />
              <PluginList />
            </>
          )}
          {section === "health" && <HealthSection />}
        </div>
      </div>
    </div>
  );
}
