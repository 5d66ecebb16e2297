import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/http";
import { translateBadge } from "@/serverTexts/badgeTexts";
import { describeError, translateText } from "@/serverTexts/serverTexts";
import chinese from "@/serverTexts/zh/index";

const translate = (text: string) => translateText(text, chinese);

describe("texts of the server in Chinese", () => {
  it("are put together of known sentences and reasons", () => {
    expect(
      translate(
        "Run this command in lib? It deletes folders and everything in them; it stops the machine. It can change the workspace only, and reach no network.",
      ),
    ).toBe("在 lib 中运行这条命令吗？它会删除文件夹及其中的一切；会关停机器。它只能更改工作文件夹，不能访问网络。");
    expect(translate("Write .env? Environment files hold secrets.")).toBe("写入 .env 吗？环境文件中有机密。");
    expect(translate("Sub-agent: Run this Python?")).toBe("子智能体：运行这段 Python 代码吗？");
    expect(translate("it has “port”, “tls”; its meaning is near (0.41)")).toBe(
      "其中有 “port”, “tls”；含义相近（0.41）",
    );
  });

  it("stay as they are where they are not known", () => {
    expect(translate("Something new. And more of it.")).toBe("Something new. And more of it.");
    expect(translate("constructor")).toBe("constructor");
    expect(translate("Run this command? Something new.")).toBe("运行这条命令吗？Something new.");
  });

  it("say what an error code means, and keep the server's words", () => {
    const error = new ApiError({
      code: "title_taken",
      detail: 'Another one is "x".',
      hint: "Say another.",
      status: 409,
    });
    expect(describeError(error, chinese)).toEqual({
      message: "另一个会话已经用了这个标题。",
      hint: "请换一个标题。",
      original: 'Another one is "x". Say another.',
    });
    expect(describeError(error, null).message).toBe('Another one is "x".');
  });

  it("do not give a secret badge away", () => {
    const badge = { id: "port_3000_taken", name: "???", state: "secret", description: "", criteria: "" };
    const shown = translateBadge(badge as never, chinese, "zh");
    expect(shown.name).toBe("???");
    expect(JSON.stringify(shown)).not.toContain("端口");
  });
});
