import { useState } from "react";
import { useMessages } from "@/gateway/messages";
import type { FieldValues, Network, NetworkField } from "@/gateway/networksApi";
import { useServerTexts } from "@/serverTexts/serverTexts";
import css from "./NetworkForm.module.css";

interface Props {
  network: Network;
  submit: (values: FieldValues) => void;
  isBusy: boolean;
  label: string;
}

/** What a network has to know, each with a sentence on where to find it; what is optional is folded. */
export function NetworkForm({ network, submit, isBusy, label }: Props) {
  const { t } = useMessages();
  const texts = useServerTexts();
  const [values, setValues] = useState<Record<string, string>>({});
  const required = network.fields.filter((field) => field.is_required);
  const optional = network.fields.filter((field) => !field.is_required);
  const isComplete = required.every((field) => values[field.name]?.trim());
  const describe = (field: NetworkField) =>
    texts?.networks[`${network.name}.${field.name}`] ??
    texts?.networks[`*.${field.name}`] ?? [field.label, field.where];
  const render = (field: NetworkField) => {
    const [name, where] = describe(field);
    return (
      <label key={field.name} className={css.field}>
        <span>{name}</span>
        <input
          type={field.is_secret ? "password" : "text"}
          autoComplete="off"
          value={values[field.name] ?? ""}
          placeholder={field.default === null || field.default === "" ? "" : String(field.default)}
          onChange={(event) => setValues({ ...values, [field.name]: event.target.value })}
        />
        {where && <small className="dim">{where}</small>}
      </label>
    );
  };
  return (
    <form
      className={css.networkForm}
      onSubmit={(event) => {
        event.preventDefault();
        submit(parseValues(network.fields, values));
      }}
    >
      {required.map(render)}
      {optional.length > 0 && (
        <details open={required.length === 0}>
          <summary>{t("networks.optional")}</summary>
          {optional.map(render)}
        </details>
      )}
      <div className="row">
        <button className="button primary" disabled={isBusy || !isComplete}>
          {isBusy ? t("networks.checking") : label}
        </button>
      </div>
    </form>
  );
}

/** The typed texts as the kinds that the settings have by default. */
function parseValues(fields: NetworkField[], typed: Record<string, string>): FieldValues {
  const values: FieldValues = {};
  for (const field of fields) {
    const text = typed[field.name]?.trim();
    if (!text) continue;
    if (typeof field.default === "boolean")
      values[field.name] = ["yes", "true", "1", "on"].includes(text.toLowerCase());
    else if (typeof field.default === "number") values[field.name] = Number(text);
    else if (Array.isArray(field.default)) values[field.name] = text.split(",").map((part) => part.trim());
    else values[field.name] = text;
  }
  return values;
}
