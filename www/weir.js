// Says on the page which protocol brought it, how large it was and how long it took.
"use strict";

(function () {
    const NAMES = {
        "h2": "HTTP/2",
        "h2c": "HTTP/2",
        "h3": "HTTP/3",
        "http/1.1": "HTTP/1.1",
        "http/1.0": "HTTP/1.0",
    };

    function size(bytes) {
        return bytes < 1000 ? bytes + " B" : (bytes / 1000).toFixed(1) + " kB";
    }

    function time(ms) {
        return ms < 10 ? ms.toFixed(1) + " ms" : Math.round(ms) + " ms";
    }

    function item(value, label) {
        const span = document.createElement("span");
        const strong = document.createElement("strong");
        strong.textContent = value;
        span.append(strong, " " + label);
        return span;
    }

    function show() {
        const page = performance.getEntriesByType("navigation")[0];
        const wire = document.getElementById("wire");
        if (page === undefined || page.nextHopProtocol === "") {
            wire.textContent = "This browser does not tell which protocol it used.";
            return;
        }
        const files = performance.getEntriesByType("resource");
        const sum = files.reduce((bytes, f) => bytes + f.encodedBodySize, page.encodedBodySize);
        const protocol = page.nextHopProtocol;
        wire.replaceChildren(
            item(NAMES[protocol] || protocol, "is what your browser used"),
            item(time(page.responseEnd - page.requestStart), "from request to last byte"),
            item(size(sum), "in " + (files.length + 1) + " files"));
        wire.dataset.protocol = protocol;
    }

    // The times are complete, and the other files counted, once the page has loaded.
    window.addEventListener("load", () => setTimeout(show, 0));
})();
