import { useEffect, useState } from "react";
import { Dialog } from "@/components/Dialog";
import { count, useWords } from "@/i18n";
import { drawCard, HEIGHT, WIDTH } from "./shareCard";
import type { Badge } from "./types";

export function Share({ badge, close }: { badge: Badge; close: () => void }) {
  const { t, language } = useWords();
  const [made, setMade] = useState<{ blob: Blob; address: string } | null>(null);
  const [error, setError] = useState("");
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    let address = "";
    let gone = false;
    const progress = badge.requirements || !badge.progress ? "" : badge.next_tier ? `${count(badge.progress, language)} / ${count(badge.next_threshold, language)}` : count(badge.progress, language);
    drawCard(badge, { unlocked: t("ach.state.unlocked"), progress, tier: badge.tier ?? t("ach.tier.complete") }).then(
      (blob) => {
        if (gone) return;
        address = URL.createObjectURL(blob);
        setMade({ blob, address });
      },
      (problem: Error) => setError(problem.message),
    );
    return () => {
      gone = true;
      if (address) URL.revokeObjectURL(address);
    };
  }, [badge, language, t]);

  const copy = async () => {
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": made!.blob })]);
      setCopied(true);
      setTimeout(() => setCopied(false), 1800);
    } catch {
      setError(t("ach.share.nocopy"));
    }
  };

  return (
    <Dialog label={t("ach.share.title", { name: badge.name })} close={close} wide closeLabel={t("action.close")}>
      <h2>{t("ach.share.title", { name: badge.name })}</h2>
      {made ? <img className="ach-share" src={made.address} width={WIDTH} height={HEIGHT} alt={t("ach.share.alt", { name: badge.name })} /> : <div className="ach-share ach-shimmer" role="status">{t("ach.share.drawing")}</div>}
      {error && <p className="ach-error" role="alert">{error}</p>}
      <div className="row">
        <a className="button primary" aria-disabled={!made} href={made?.address} download={`sojourn-achievement-${badge.id}.png`}>{t("ach.share.download")}</a>
        <button className="button" disabled={!made} onClick={() => void copy()}>{copied ? t("ach.share.copied") : t("ach.share.copy")}</button>
      </div>
      <p className="dim">{t("ach.share.note")}</p>
    </Dialog>
  );
}
