import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queryClient } from "@/api/query";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { formatDateTime } from "@/i18n";
import { followLink } from "@/router";
import { useMessages } from "@/schedules/messages";
import { ScheduleForm } from "@/schedules/ScheduleForm";
import { type Schedule, schedulesApi } from "@/schedules/schedulesApi";
import css from "./SchedulesPage.module.css";

/** Prompts that run at set times: added, changed, paused and removed. */
export default function SchedulesPage() {
  const { t } = useMessages();
  const { data, error, refetch } = useQuery(
    { queryKey: ["schedules"], queryFn: ({ signal }) => schedulesApi.list(signal) },
    queryClient,
  );
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("schedules.title")}</h1>
      </header>
      <p className="dim">{t("schedules.about")}</p>
      <ErrorMessage error={error} retry={() => void refetch()} />
      {data?.length === 0 && <p className="empty-state">{t("schedules.none")}</p>}
      {data?.map((schedule) => (
        <ScheduleCard key={schedule.id} schedule={schedule} onChange={() => refetch()} />
      ))}
      <section className="card">
        <h2>{t("schedules.add")}</h2>
        <ScheduleForm save={(body) => schedulesApi.add(body).then(() => refetch())} />
      </section>
    </div>
  );
}

function ScheduleCard({ schedule, onChange }: { schedule: Schedule; onChange: () => Promise<unknown> }) {
  const { t, language } = useMessages();
  const [isEditing, setIsEditing] = useState(false);
  const [showsRuns, setShowsRuns] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = (work: Promise<unknown>) => {
    setError(null);
    work.then(onChange, setError);
  };
  const remove = () =>
    run(schedulesApi.remove(schedule.id).then(() => showToast(t("schedules.removed", { name: schedule.name }))));
  if (isEditing)
    return (
      <section className="card" data-schedule={schedule.name}>
        <ScheduleForm
          schedule={schedule}
          cancel={() => setIsEditing(false)}
          save={(body) =>
            schedulesApi
              .change(schedule.id, body)
              .then(onChange)
              .then(() => setIsEditing(false))
          }
        />
      </section>
    );
  return (
    <section className="card" data-schedule={schedule.name}>
      <div className="row">
        <h2 className="grow">{schedule.name}</h2>
        <span className="pill">{schedule.when}</span>
        {schedule.deliver && <span className="pill">{schedule.deliver}</span>}
        {schedule.paused && <span className="pill bad">{t("schedules.paused")}</span>}
      </div>
      <p>{schedule.text}</p>
      <p className="dim">
        {schedule.next_at && t("schedules.next", { when: formatDateTime(schedule.next_at, language) })}
        {schedule.missed > 0 && ` · ${t("schedules.missed", { n: schedule.missed })}`}
      </p>
      <ErrorMessage error={error} />
      <div className="row">
        <button className="button" onClick={() => run(schedulesApi.change(schedule.id, { paused: !schedule.paused }))}>
          {t(schedule.paused ? "schedules.resume" : "schedules.pause")}
        </button>
        <button className="button" onClick={() => setIsEditing(true)}>
          {t("action.edit")}
        </button>
        <button className="button" aria-expanded={showsRuns} onClick={() => setShowsRuns(!showsRuns)}>
          {t("schedules.runs")}
        </button>
        <button className="button danger" onClick={remove}>
          {t("action.remove")}
        </button>
      </div>
      {showsRuns && <RunList id={schedule.id} />}
    </section>
  );
}

/** The newest runs of a schedule, each with its session. */
function RunList({ id }: { id: string }) {
  const { t, language } = useMessages();
  const { data, error } = useQuery(
    { queryKey: ["schedule-runs", id], queryFn: ({ signal }) => schedulesApi.listRuns(id, signal) },
    queryClient,
  );
  if (data?.length === 0) return <p className="dim">{t("schedules.runs.none")}</p>;
  return (
    <>
      <ErrorMessage error={error} />
      <ul className={css.scheduleRuns}>
        {data
          ?.toReversed()
          .slice(0, 20)
          .map((one) => (
            <li key={one.at}>
              {one.session_id ? (
                <a href={`/chat/${encodeURIComponent(one.session_id)}`} onClick={followLink}>
                  {formatDateTime(one.at, language)}
                </a>
              ) : (
                formatDateTime(one.at, language)
              )}{" "}
              <span className={one.state === "failed" ? "pill bad" : "pill"}>{t(`schedules.state.${one.state}`)}</span>{" "}
              {one.error && <span className="dim">{one.error}</span>}
            </li>
          ))}
      </ul>
    </>
  );
}
