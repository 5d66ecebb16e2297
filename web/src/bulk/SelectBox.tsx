import { useMessages } from "@/bulk/messages";
import css from "./SelectBox.module.css";

interface Props {
  title: string;
  isSelected: boolean;
  toggle: (isRange: boolean) => void;
}

/** The box in front of a row that selects it; with Shift, everything from the last one to it. */
export function SelectBox({ title, isSelected, toggle }: Props) {
  const { t } = useMessages();
  return (
    <label className={css.selectBox}>
      <input
        type="checkbox"
        aria-label={t("bulk.select.one", { title })}
        checked={isSelected}
        onChange={(event) => toggle((event.nativeEvent as MouseEvent).shiftKey)}
      />
    </label>
  );
}
