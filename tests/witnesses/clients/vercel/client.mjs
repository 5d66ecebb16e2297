// Vercel's AI SDK with its providers `openai` (responses) and `openai-compatible` (chat completions).
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, streamText, tool } from "ai";
import { z } from "zod";

const [kind, origin, token, picture] = process.argv.slice(2);
const settings = { baseURL: `${origin}/v1`, apiKey: token, name: "sojourn", supportsStructuredOutputs: true };
const provider = kind === "vercel" ? createOpenAI(settings) : createOpenAICompatible(settings);
const question = "Say hello.";
const make = (options) => generateText({ model: provider("default"), maxRetries: 0, ...options });

async function stream() {
  const { textStream } = streamText({ model: provider("default"), prompt: question, maxRetries: 0 });
  let text = "";
  for await (const part of textStream) text += part;
  return text;
}

async function turns() {
  const messages = [];
  for (let number = 0; number < 30; number++) {
    messages.push({ role: "user", content: `Turn ${number} of ${kind}` });
    const { response } = await make({ messages });
    messages.push(...response.messages);
  }
  return messages.length;
}

const content = [
  { type: "text", text: question },
  { type: "image", image: Buffer.from(picture, "base64"), mediaType: "image/png" },
];
const cells = {
  answer: async () => (await make({ prompt: question })).text,
  stream,
  tools: async () =>
    (await make({ prompt: question, tools: { look: tool({ inputSchema: z.object({}), execute: async () => "x" }) } })).text,
  structured: async () =>
    JSON.stringify(
      (await generateObject({ model: provider("default"), schema: z.object({ a: z.string() }), prompt: question, maxRetries: 0 })).object,
    ),
  pictures: async () => (await make({ messages: [{ role: "user", content }] })).text,
  errors: async () => (await generateText({ model: provider("nope"), prompt: "x", maxRetries: 0 })).text,
  turns,
};
const results = { client: kind };
for (const [name, work] of Object.entries(cells)) {
  try {
    results[name] = await work();
  } catch (error) {
    results[name] = `${error.name}: ${error.message}`;
    console.error(error);
  }
}
console.log(JSON.stringify(results));
