// What scripts say, in the language of the page: its words stand in the page where that is not English.
const page = document.getElementById("words");
const words = page ? JSON.parse(page.textContent) : {};
export const language = document.documentElement.lang || "en";

/** The message in the language of the page, `%(name)s` filled in from `values`. */
export const _ = (message, values = {}) =>
  (words[message] ?? message).replaceAll(/%%|%\((\w+)\)s/g, (found, name) =>
    found === "%%" ? "%" : values[name],
  );

/** A number as the language of the page writes it, with so many decimals. */
export const number = (value, digits = 0) =>
  value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
