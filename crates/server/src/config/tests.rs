use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::*;

fn load(environment: &[(&str, &str)]) -> Result<Config, String> {
    let get = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let layers = Layers::read(None, get, &Flags::default()).map_err(|error| error.to_string())?;
    Config::from_layers(&layers).map_err(|error| error.to_string())
}

#[test]
fn the_embedded_file_is_the_contracts_defaults() {
    let config = load(&[]).expect("valid");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.database_url(), "sqlite://./switchhook-data/switchhook.db");
    assert_eq!((config.rate_limit_per_minute, config.concurrent_calls, config.monthly_calls), (120, 10, None));
    assert_eq!((config.webhook_timeout, config.media_timeout), (Duration::from_secs(15), Duration::from_secs(30)));
    assert_eq!((config.retention_days, config.delivery_retention_days), (None, 30));
    assert_eq!((config.max_connections, config.max_connections_per_address), (10_000, 1_000));
    assert_eq!((config.database_connections, config.shutdown_delay), (33, None));
    assert_eq!(config.roles, [NodeRole::Api, NodeRole::Calls, NodeRole::Webhooks]);
}

#[test]
fn every_variable_of_the_contract_is_known() {
    let layers = Layers::read(None, |_| None, &Flags::default()).expect("valid");
    let known: Vec<&str> = layers.names().collect();
    for name in [
        "listen",
        "public_url",
        "database_url",
        "data_dir",
        "env",
        "master_key",
        "rate_limit_per_minute",
        "concurrent_calls",
        "monthly_calls",
        "webhook_retry_delays",
        "webhook_timeout",
        "webhook_allow",
        "extra_ca",
        "outbound_allow",
        "media_timeout",
        "oidc_issuer",
        "oidc_client_id",
        "oidc_client_secret",
        "oidc_allow",
        "oidc_scopes",
        "roles",
        "sip_listen",
        "dns",
        "retention_days",
        "delivery_retention_days",
        "replay_days",
        "max_connections",
        "max_connections_per_address",
        "idle_timeout",
        "shutdown_delay",
        "database_connections",
    ] {
        assert!(known.contains(&name), "{name}");
    }
}

#[test]
fn each_bad_value_is_named_with_its_source() {
    let table = [
        ("SWITCHHOOK_LISTEN", "8080", "must be an address"),
        ("SWITCHHOOK_ENV", "staging", "must be dev or prod"),
        ("SWITCHHOOK_MASTER_KEY", "c2hvcnQ=", "base64 of 32 bytes"),
        ("SWITCHHOOK_DATABASE_URL", "mysql://x", "sqlite:// or postgres://"),
        ("SWITCHHOOK_DATABASE_URL", "sqlite:///data/switchhook.db?mode=rwc", "without parameters"),
        ("SWITCHHOOK_DATABASE_URL", "sqlite://", "must name a file"),
        ("SWITCHHOOK_RATE_LIMIT_PER_MINUTE", "0", "whole number from 1"),
        ("SWITCHHOOK_MAX_CONNECTIONS", "0", "whole number from 1"),
        ("SWITCHHOOK_DATABASE_CONNECTIONS", "7", "whole number from 8"),
        ("SWITCHHOOK_IDLE_TIMEOUT", "0s", "longer than zero"),
        ("SWITCHHOOK_SHUTDOWN_DELAY", "soon", "whole number with ms, s, m or h"),
        ("SWITCHHOOK_MONTHLY_CALLS", "-1", "whole number"),
        ("SWITCHHOOK_WEBHOOK_RETRY_DELAYS", "5s,30s", "seven durations, not 2"),
        ("SWITCHHOOK_WEBHOOK_TIMEOUT", "15", "whole number with ms, s, m or h"),
        ("SWITCHHOOK_WEBHOOK_TIMEOUT", "0s", "longer than zero"),
        ("SWITCHHOOK_WEBHOOK_ALLOW", "10.0.0.0/33", "networks such as"),
        ("SWITCHHOOK_EXTRA_CA", "/no/such/file", "does not exist"),
        ("SWITCHHOOK_MEDIA_TIMEOUT", "99999999999999999999h", "whole number with"),
        ("SWITCHHOOK_ROLES", "api,cook", "some of api, calls and webhooks"),
        ("SWITCHHOOK_RTC_LISTEN", "40000", "must be ip:port"),
        ("SWITCHHOOK_RTC_ADDRESSES", "voice.example.com", "must be addresses such as"),
        ("SWITCHHOOK_RTC_ADDRESSES", "203.0.113.7, 0.0.0.0", "must be addresses such as"),
        ("SWITCHHOOK_PUBLIC_URL", "ftp://x", "http:// or https://"),
        ("SWITCHHOOK_PUBLIC_URL", "https:voice.example.com", "such as https://voice.example.com, not \"https:voice"),
        ("SWITCHHOOK_PUBLIC_URL", "https:/voice.example.com", "http:// or https://"),
        ("SWITCHHOOK_PUBLIC_URL", "https:///voice.example.com", "http:// or https://"),
        ("SWITCHHOOK_PUBLIC_URL", "https:\\\\voice.example.com", "http:// or https://"),
        ("SWITCHHOOK_PUBLIC_URL", "https://voice.example.com\\x", "http:// or https://"),
        ("SWITCHHOOK_PUBLIC_URL", "https://voice.example.com/a//b", "http:// or https://"),
        ("SWITCHHOOK_PUBLIC_URL", "https://ava@voice.example.com", "user name or password"),
        ("SWITCHHOOK_DATA_DIR", "\"/var/lib/switchhook\"", "has quotation marks around its value: leave them out"),
        ("SWITCHHOOK_DATA_DIR", "'/var/lib/switchhook'\n", "quotation marks"),
        ("SWITCHHOOK_MAX_CONNECTIONS", "\"\"", "quotation marks"),
        ("SWITCHHOOK_DATA_DIR", "~/switchhook", "begins with ~, which is not expanded here: write the whole path"),
        ("SWITCHHOOK_DATABASE_URL", "sqlite://~/switchhook.db", "not expanded here"),
        ("SWITCHHOOK_EXTRA_CA", "~ava/ca.pem", "not expanded here"),
        ("SWITCHHOOK_SIMULATOR_DIAL_LOG", "~/dialled", "not expanded here"),
        ("SWITCHHOOK_OIDC_ISSUER", "http://accounts.example.com", "https://"),
        ("SWITCHHOOK_OIDC_ALLOW", "example.com", "such as @example.com"),
    ];
    for (name, value, words) in table {
        let error = load(&[(name, value)]).expect_err(value);
        assert!(error.starts_with(name) && error.contains(words), "{name}={value}: {error}");
    }
}

#[test]
fn a_value_that_may_be_a_secret_is_not_shown_where_it_is_refused() {
    for (name, value, words) in [
        ("SWITCHHOOK_MASTER_KEY", "'hunter2'", "quotation marks"),
        ("SWITCHHOOK_OIDC_CLIENT_SECRET", "\"hunter2\"", "quotation marks"),
        ("SWITCHHOOK_DATABASE_URL", "\"postgres://user:hunter2@host/db\"", "quotation marks"),
        ("SWITCHHOOK_PUBLIC_URL", "https://ava:hunter2@voice.example.com", "user name or password"),
        ("SWITCHHOOK_PUBLIC_URL", "https:/ava:hunter2@voice.example.com", "such as https://voice.example.com"),
    ] {
        let error = load(&[(name, value)]).expect_err(value);
        assert!(error.starts_with(name) && error.contains(words), "{name}={value}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn line_breaks_behind_a_value_do_not_count() {
    let key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let line = format!("{key}\r\n");
    let config = load(&[
        ("SWITCHHOOK_DATA_DIR", "/var/lib/switchhook\n"),
        ("SWITCHHOOK_DATABASE_URL", "postgres://user:pw@host/db\n"),
        ("SWITCHHOOK_MASTER_KEY", line.as_str()),
        ("SWITCHHOOK_ROLES", "api\n"),
    ])
    .expect("valid");
    assert_eq!(config.data_dir, Path::new("/var/lib/switchhook"));
    assert_eq!(config.database_url(), "postgres://user:pw@host/db");
    assert_eq!(config.master_key.as_ref().map(|text| text.reveal().as_str()), Some(key));
    assert_eq!(config.roles, [NodeRole::Api]);
}

#[test]
fn a_variable_that_is_not_text_does_not_count_as_not_set() {
    let check =
        |name: &str| layers::check_text([(name.into(), OsString::from_vec(b"/srv/b\xfcro".to_vec()))].into_iter());
    let error = check("SWITCHHOOK_DATA_DIR").expect_err("Latin-1").to_string();
    assert!(error.starts_with("SWITCHHOOK_DATA_DIR is not UTF-8") && !error.contains("srv"), "{error}");
    check("LC_NAME").expect("a variable of another program");
}

#[test]
fn the_public_address_is_stored_as_requests_use_it() {
    for (text, stored) in [
        ("https://voice.example.com", "https://voice.example.com"),
        ("https://voice.example.com/\n", "https://voice.example.com"),
        ("HTTPS://Voice.Example.com", "https://voice.example.com"),
        ("https://b\u{fc}ro.example.com", "https://xn--bro-hoa.example.com"),
        ("https://voice.example.com:443/Voice/", "https://voice.example.com/Voice"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
    ] {
        let config = load(&[("SWITCHHOOK_PUBLIC_URL", text)]).expect(text);
        assert_eq!(config.public_url.as_deref(), Some(stored), "{text}");
    }
}

#[test]
fn variables_that_look_like_a_setting_are_named_with_what_was_meant() {
    let layers = Layers::read(None, |_| None, &Flags::default()).expect("valid");
    let set = |names: &[&str]| layers.misspelt(names.iter().map(|name| (*name).to_owned()));
    for (wrong, meant) in [
        ("SWITCHHOOK_DATABSE_URL", "SWITCHHOOK_DATABASE_URL"),
        ("SWITCHHOOK_DATABASE_URL_FILE", "SWITCHHOOK_DATABASE_URL"),
        ("SWITCHHOOK_MASTER_KEY_FILE", "SWITCHHOOK_MASTER_KEY"),
        ("SWITCHHOOK_PUBLICURL", "SWITCHHOOK_PUBLIC_URL"),
    ] {
        assert_eq!(set(&[wrong]), [format!("{wrong} (did you mean {meant}?)")]);
    }
    // Those of Compose files, of Kubernetes for a service of this name, of other commands, and of other programs.
    let others = [
        "SWITCHHOOK_PORT",
        "SWITCHHOOK_DOMAIN",
        "SWITCHHOOK_NODES",
        "SWITCHHOOK_IMAGE",
        "SWITCHHOOK_PORT_8080_TCP",
        "SWITCHHOOK_PORT_8080_TCP_ADDR",
        "SWITCHHOOK_SERVICE_HOST",
        "SWITCHHOOK_SERVICE_PORT",
        "SWITCHHOOK_URL",
        "SWITCHHOOK_API_KEY",
        "SWITCHHOOK_LISTEN",
        "DATABASE_URL_FILE",
    ];
    assert_eq!(set(&others), Vec::<String>::new());
}

/// Google's balancers keep a connection for 600 s, AWS's for 60 s.
#[test]
fn an_idle_connection_outlives_those_of_load_balancers() {
    assert!(load(&[]).expect("valid").listener_bounds().timeouts.idle > Duration::from_secs(600));
    let set = load(&[("SWITCHHOOK_IDLE_TIMEOUT", "75s")]).expect("valid");
    assert_eq!(set.listener_bounds().timeouts.idle, Duration::from_secs(75));
}

#[test]
fn a_password_that_is_not_escaped_is_named_by_its_character_and_not_shown() {
    let database = |url: &str| load(&[("SWITCHHOOK_DATABASE_URL", url)]).map(drop);
    for (url, character) in [
        ("postgres://user:hun#ter2@host/db", '#'),
        ("postgres://user:hun#ter2@host:5432/db?sslmode=require", '#'),
        ("postgres://user:hun?ter2@host/db", '?'),
        ("postgres://user:hun?t=er2@host/db", '?'),
        ("postgres://user:hun/ter2@host/db", '/'),
        ("postgres://user:12/hunter2@host/db", '/'),
        ("postgres://user:12?hunter2@host/db", '?'),
        ("postgres://user:hu@n/ter2@host/db", '/'),
        ("postgresql://user:hu/n?ter2@host/db", '/'),
    ] {
        let error = database(url).expect_err(url);
        assert!(error.starts_with("SWITCHHOOK_DATABASE_URL has a "), "{error}");
        assert!(error.contains(&format!("has a {character} ")) && error.contains("%2F"), "{url}: {error}");
        assert!(!error.contains("hun") && !error.contains("ter2"), "{error}");
    }
    for url in [
        "postgres://user:hun%23ter2@host/db",
        "postgres://user:hun@ter2@host/db",
        "postgres://user:pw@[::1]:5432/db",
        "postgres://[::1]/db?user=a@example.com&password=b@c",
        "postgres://user@example.com:pw@host:6432/db?options=-c%20geqo=off",
        "postgres://user:pw@/db?host=/cloudsql/project:region:name",
        "postgres:///db?host=/run",
        "postgres://host",
    ] {
        database(url).expect(url);
    }
}

#[test]
fn production_never_makes_a_key_file() {
    let mut config = Config::for_tests(Path::new("/nonexistent"));
    config.env = Environment::Prod;
    let refusal = config.open_vault().expect_err("no key").to_string();
    assert!(refusal.contains("SWITCHHOOK_MASTER_KEY"), "{refusal}");
}

#[test]
fn production_needs_a_master_key_and_an_empty_variable_is_not_set() {
    let error = load(&[("SWITCHHOOK_ENV", "prod"), ("SWITCHHOOK_MASTER_KEY", " ")]).expect_err("no key");
    assert!(error.contains("SWITCHHOOK_MASTER_KEY is required"), "{error}");
    let key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let config = load(&[("SWITCHHOOK_ENV", "prod"), ("SWITCHHOOK_MASTER_KEY", key)]).expect("valid");
    assert!(!format!("{config:?}").contains(key), "secrets do not print");
}

#[test]
fn the_command_line_beats_the_environment_and_the_environment_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("switchhook.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:1\"\nconcurrent_calls = 3\n").expect("written");
    let environment = |name: &str| (name == "SWITCHHOOK_LISTEN").then(|| "127.0.0.1:2".to_owned());
    let listen = |flags: &Flags| {
        let config =
            Config::from_layers(&Layers::read(Some(&file), environment, flags).expect("valid")).expect("valid");
        (config.listen.port(), config.concurrent_calls)
    };
    assert_eq!(listen(&Flags::default()), (2, 3));
    assert_eq!(listen(&Flags { listen: Some("127.0.0.1:3".to_owned()), ..Flags::default() }), (3, 3));

    std::fs::write(&file, "colour = 1\n").expect("written");
    let error = Layers::read(Some(&file), |_| None, &Flags::default()).map(drop).expect_err("unknown");
    assert!(error.to_string().contains("unknown setting: colour"), "{error}");
}

#[test]
fn audio_over_udp_is_off_until_browsers_can_be_told_where_it_is() {
    assert_eq!(load(&[]).expect("valid").carriers().webrtc, None);
    let anywhere = ("SWITCHHOOK_RTC_LISTEN", "0.0.0.0:40000");
    let error = load(&[anywhere]).expect_err("nobody reaches 0.0.0.0");
    assert!(error.contains("SWITCHHOOK_RTC_ADDRESSES is required"), "{error}");
    let config = load(&[anywhere, ("SWITCHHOOK_RTC_ADDRESSES", "203.0.113.7, [2001:db8::7]:4000")]).expect("valid");
    let webrtc = config.carriers().webrtc.expect("it is on");
    let addresses: Vec<String> = webrtc.addresses.iter().map(|(ip, port)| format!("{ip} {port:?}")).collect();
    assert_eq!(addresses, ["203.0.113.7 None", "2001:db8::7 Some(4000)"]);
}

#[test]
fn development_takes_audio_over_udp_on_loopback_only() {
    let listen = |address| {
        let config = load(&[("SWITCHHOOK_LISTEN", address)]).expect("valid").for_development();
        config.rtc_listen.map(|listen| listen.to_string())
    };
    assert_eq!(listen("127.0.0.1:8080").as_deref(), Some("127.0.0.1:0"));
    assert_eq!(listen("[::1]:8080").as_deref(), Some("[::1]:0"));
    assert_eq!(listen("0.0.0.0:8080"), None);
}

#[test]
fn sign_in_needs_an_issuer_and_a_client_id() {
    const ISSUER: (&str, &str) = ("SWITCHHOOK_OIDC_ISSUER", "https://accounts.example.com/");
    assert!(load(&[]).expect("valid").oidc.is_none());
    assert!(load(&[ISSUER]).expect_err("no id").contains("SWITCHHOOK_OIDC_CLIENT_ID is required"));
    let id = ("SWITCHHOOK_OIDC_CLIENT_ID", "switchhook");
    let config = load(&[ISSUER, id, ("SWITCHHOOK_OIDC_CLIENT_SECRET", "a-secret")]).expect("valid");
    assert!(!format!("{config:?}").contains("a-secret"), "secrets do not print");
    let oidc = config.oidc.expect("it is on");
    assert_eq!((oidc.issuer.as_str(), oidc.scopes.len()), (ISSUER.1, 3), "the issuer stays as it is written");
    let local = [("SWITCHHOOK_OIDC_ISSUER", "http://127.0.0.1:9000"), id];
    assert!(load(&local).expect("loopback").oidc.expect("it is on").client_secret.is_none());
}

#[test]
fn in_development_webhooks_may_be_on_this_machine_unless_the_setting_says_otherwise() {
    let allowed = |environment: &[(&str, &str)]| load(environment).expect("valid").for_development().webhook_allow;
    assert_eq!(allowed(&[]), LOOPBACK.parse().expect("valid"));
    let named = "10.0.0.0/8";
    assert_eq!(allowed(&[("SWITCHHOOK_WEBHOOK_ALLOW", named)]), named.parse().expect("valid"));
    assert_eq!(
        allowed(&[("SWITCHHOOK_LISTEN", "0.0.0.0:8080")]),
        AddressPolicy::default(),
        "others reach this service"
    );
    let tools = |environment: &[(&str, &str)]| load(environment).expect("valid").for_development().outbound_allow;
    assert_eq!(tools(&[]), LOOPBACK.parse().expect("valid"));
    assert_eq!(tools(&[("SWITCHHOOK_OUTBOUND_ALLOW", named)]), named.parse().expect("valid"));
}
