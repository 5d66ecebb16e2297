import { Component, type ReactNode } from "react";
import { I18nContext } from "@/i18n";

/** Shows an error in place of a page that throws; everything around it keeps working. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  static override contextType = I18nContext;
  declare context: React.ContextType<typeof I18nContext>;
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
          <button className="button" onClick={() => this.setState({ error: null })}>
            {this.context.t("action.retry")}
          </button>
        </div>
      </div>
    );
  }
}
