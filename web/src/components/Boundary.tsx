import { Component, type ReactNode } from "react";
import { Words } from "@/i18n";

/** A page that throws says so in its own place; everything around it goes on. */
export class Boundary extends Component<{ what: string; children: ReactNode }, { error: Error | null }> {
  static override contextType = Words;
  declare context: React.ContextType<typeof Words>;
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="page">
        <div className="card problem" role="alert">
          <h2>{this.context.t("problem.page")}</h2>
          <p>{String(this.state.error.message)}</p>
          <button className="button" onClick={() => this.setState({ error: null })}>{this.context.t("action.retry")}</button>
        </div>
      </div>
    );
  }
}
