// Uploads that tell how far they are, which `fetch` cannot.
import { ApiError, buildHeaders, handleProblem, UNREACHABLE } from "@/api/http";

/** Posts a file; `report` hears how many of its bytes are sent. */
export function uploadFile<T>(path: string, file: File, report: (bytes: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const sender = new XMLHttpRequest();
    sender.open("POST", path);
    const headers = buildHeaders({ "Content-Type": file.type || "application/octet-stream" });
    for (const [name, value] of Object.entries(headers)) sender.setRequestHeader(name, value);
    sender.upload.onprogress = (event) => report(event.loaded);
    sender.onerror = () => reject(new ApiError(UNREACHABLE));
    sender.onload = () => {
      if (sender.status < 300) return resolve(JSON.parse(sender.responseText) as T);
      handleProblem(new Response(sender.responseText, { status: sender.status })).then(reject, reject);
    };
    sender.send(file);
  });
}
