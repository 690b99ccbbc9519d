// Lets the search work in pages that are opened from the disk: there, a browser starts no worker.
// The script of the worker runs in a hidden frame instead. Loaded before the theme's own scripts.
"use strict";

if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    #frame = document.createElement("iframe");
    #waiting = [];

    constructor(url) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => {
        this.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
      };
      const script = inside.document.createElement("script");
      script.addEventListener("load", () => this.#start());
      script.src = url;
      inside.document.body.append(script);
    }

    postMessage(data) {
      if (this.#waiting) {
        this.#waiting.push(data);
        return;
      }
      const inside = this.#frame.contentWindow;
      inside.dispatchEvent(
        new inside.MessageEvent("message", { data: inside.structuredClone(data) }),
      );
    }

    terminate() {
      this.#frame.remove();
    }

    #start() {
      const waiting = this.#waiting;
      this.#waiting = null;
      waiting.forEach((data) => this.postMessage(data));
    }
  }

  window.Worker = FrameWorker;
  window.IFrameWorker = FrameWorker; // the theme's worker looks for this name
}
