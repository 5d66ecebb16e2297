// Audits pages in a browser that is signed in: `node audit.mjs PORT` reads the work from standard input as JSON, one object per
// audit with `url` and `categories`, and prints the scores, one line each.
import lighthouse, { desktopConfig } from "lighthouse";

const port = Number(process.argv[2]);
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
for (const { url, categories } of JSON.parse(Buffer.concat(chunks).toString())) {
  const options = { port, onlyCategories: categories, disableStorageReset: true, logLevel: "error" };
  const { lhr } = await lighthouse(url, options, desktopConfig);
  const scores = Object.fromEntries(Object.values(lhr.categories).map((one) => [one.id, Math.round(one.score * 100)]));
  const audits = Object.values(lhr.categories).flatMap((one) => one.auditRefs.map((ref) => ({ ...ref, of: one.id })));
  const lost = audits
    .filter((ref) => ref.weight > 0 && lhr.audits[ref.id].score !== null && lhr.audits[ref.id].score < 0.9)
    .map((ref) => `${ref.of}: ${lhr.audits[ref.id].title}`);
  console.log(JSON.stringify({ url: lhr.finalDisplayedUrl, error: lhr.runtimeError?.message ?? "", scores, lost }));
}
