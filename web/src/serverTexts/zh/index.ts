// All Chinese translations of the server's texts; loaded when somebody chooses Chinese.
import type { ServerTexts } from "@/serverTexts/serverTexts";
import badges from "./badges.json";
import commands from "./commands.json";
import errors from "./errors.json";
import networks from "./networks.json";
import plugins from "./plugins.json";
import reasons from "./reasons.json";
import sentences from "./sentences.json";
import settings from "./settings.json";

const CHINESE: ServerTexts = { badges, commands, errors, networks, plugins, reasons, sentences, settings };
export default CHINESE;
