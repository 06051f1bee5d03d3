//! The people of a tenant: addresses, roles, and the last owner.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Browser, browser, invite, joined, link, morning, signed_in, with_provider};
use crate::harness::text;

#[tokio::test]
async fn an_address_with_a_letter_that_only_looks_the_same_is_another_address() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let kims = invite(&ana, "kim", "member").await;
    // KELVIN SIGN: its Unicode lower case is k.
    let lookalike = "\u{212A}im@example.com";
    let mut eve = browser(&service);
    eve.sign_in(&oidc, json!({ "sub": "eve", "email": lookalike, "name": "eve" })).await;
    let (_, who) = eve.who().await;
    let (status, refusal) = eve.act("/auth/invitation/accept", link(&kims)).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::FORBIDDEN, &json!("invitation_for_another")));
    assert_eq!(who["person"]["email"], lookalike, "as the provider has it");
    let (status, invited) = ana.ask(Method::POST, "/v1/people", Some(json!({ "email": lookalike }))).await;
    assert_eq!((status, &invited["email"]), (StatusCode::CREATED, &json!(lookalike)), "it is not kim's");
    service.stop().await;
}

#[tokio::test]
async fn unverified_address_is_neither_shown_nor_taken() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let emails = async |browser: &Browser| {
        let (_, people) = browser.ask(Method::GET, "/v1/people", None).await;
        let emails = people["data"].as_array().expect("a list").iter().map(|person| person["email"].clone());
        emails.collect::<Vec<_>>()
    };
    let ana = signed_in(&service, &oidc, "ana").await;
    clock.advance(std::time::Duration::from_secs(1));
    let mut bob = joined(&service, &oidc, &ana, "bob", "viewer").await;
    let chief = |verified: Value| json!({ "sub": "bob", "email": "ceo@example.com", "email_verified": verified, "name": "The CEO" });
    for unverified in [json!(false), Value::Null] {
        bob.sign_in(&oidc, chief(unverified)).await;
        assert_eq!(emails(&ana).await, [json!("bob@example.com"), json!("ana@example.com")], "the verified one stays");
        assert_eq!(bob.who().await.1["person"]["email"], "bob@example.com");
    }

    // The provider no longer vouches for it: it is neither shown nor good for an invitation.
    bob.sign_in(&oidc, json!({ "sub": "bob", "email": "bob@example.com", "email_verified": false })).await;
    clock.advance(std::time::Duration::from_secs(1));
    let theirs = invite(&ana, "bob", "owner").await;
    assert_eq!(
        emails(&ana).await,
        [json!("bob@example.com"), Value::Null, json!("ana@example.com")],
        "invited, bob, ana"
    );
    let (status, refusal) = bob.act("/auth/invitation/accept", link(&theirs)).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::FORBIDDEN, &json!("invitation_for_another")));

    // A person who never had a verified address has none that others see, and blocks no invitation.
    let mut eve = browser(&service);
    eve.sign_in(&oidc, json!({ "sub": "eve", "email": "ceo@example.com", "email_verified": false })).await;
    assert_eq!(emails(&eve).await, [Value::Null]);
    let person = format!("/v1/people/{}", text(&eve.who().await.1["person"]["id"]));
    assert_eq!(eve.ask(Method::GET, &person, None).await.1["email"], Value::Null);
    clock.advance(std::time::Duration::from_secs(1));
    let invited = invite(&eve, "ceo", "member").await;
    assert_eq!(invited["email"], "ceo@example.com", "it was not taken");
    eve.sign_in(&oidc, json!({ "sub": "eve", "email": "eve@example.com" })).await;
    assert_eq!(emails(&eve).await, [json!("ceo@example.com"), json!("eve@example.com")], "verified, and invited");
    let taken = eve.ask(Method::POST, "/v1/people", Some(json!({ "email": "Eve@example.com" }))).await;
    assert_eq!((taken.0, &taken.1["code"]), (StatusCode::CONFLICT, &json!("email_taken")));
    service.stop().await;
}

#[tokio::test]
async fn roles_decide_what_a_person_may_do_from_the_next_request_on() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let bob = joined(&service, &oidc, &ana, "bob", "viewer").await;
    let path = format!("/v1/people/{}", text(&bob.who().await.1["person"]["id"]));
    let connection = |name: &str| Some(json!({ "name": name, "provider": "scripted" }));
    for (role, may) in [("viewer", [false, false]), ("member", [true, false]), ("owner", [true, true])] {
        let (status, changed) = ana.ask(Method::PATCH, &path, Some(json!({ "role": role }))).await;
        assert_eq!((status, &changed["role"]), (StatusCode::OK, &json!(role)), "{changed}");
        for read in ["/v1/people", "/v1/api-keys", "/v1/tenant", "/v1/calls"] {
            assert_eq!(bob.ask(Method::GET, read, None).await.0, StatusCode::OK, "{role} reads {read}");
        }
        let made = bob.ask(Method::POST, "/v1/connections", connection(role)).await;
        let administered = [
            bob.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await,
            bob.ask(Method::POST, "/v1/people", Some(json!({ "email": format!("{role}@example.net") }))).await,
        ];
        for ((status, body), may) in [(&made, may[0]), (&administered[0], may[1]), (&administered[1], may[1])] {
            let expected = if may { StatusCode::CREATED } else { StatusCode::FORBIDDEN };
            assert_eq!(*status, expected, "{role}: {body}");
            assert!(may || body["code"] == "role_forbids", "{body}");
        }
        let removed = bob.ask(Method::DELETE, &path, None).await.0;
        assert_eq!(removed == StatusCode::FORBIDDEN, role != "owner", "{role}: {removed}");
        if role == "owner" {
            // There are two owners: one may leave.
            assert_eq!(removed, StatusCode::NO_CONTENT);
            assert_eq!(bob.who().await.0, StatusCode::UNAUTHORIZED, "sessions end with their person");
        }
    }
    service.stop().await;
}

#[tokio::test]
async fn an_invitation_ends_with_the_role_of_the_owner_who_made_it() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let bob = joined(&service, &oidc, &ana, "bob", "owner").await;
    let his = format!("/v1/people/{}", text(&bob.who().await.1["person"]["id"]));
    let mut second = signed_in(&service, &oidc, "second").await;
    let of_ana = invite(&ana, "carol", "member").await;
    for (method, body) in [(Method::PATCH, Some(json!({ "role": "viewer" }))), (Method::DELETE, None)] {
        ana.ask(Method::PATCH, &his, Some(json!({ "role": "owner" }))).await;
        let invited = invite(&bob, "second", "owner").await;
        assert!(ana.ask(method.clone(), &his, body).await.0.is_success());
        let (status, refusal) = second.act("/auth/invitation/accept", link(&invited)).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::NOT_FOUND, &json!("invitation_ended")), "{method}");
    }
    let mut carol = signed_in(&service, &oidc, "carol").await;
    assert_eq!(carol.act("/auth/invitation/accept", link(&of_ana)).await.0, StatusCode::NO_CONTENT, "others' stay");
    service.stop().await;
}

#[tokio::test]
async fn the_last_owner_stays() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let me = format!("/v1/people/{}", text(&ana.who().await.1["person"]["id"]));
    // An invited person cannot act as an owner yet.
    let carol = invite(&ana, "carol", "owner").await;
    let demote = || Some(json!({ "role": "member" }));
    for (method, body) in [(Method::DELETE, None), (Method::PATCH, demote())] {
        let (status, body) = ana.ask(method, &me, body).await;
        assert_eq!((status, &body["code"]), (StatusCode::CONFLICT, &json!("last_owner")));
    }
    assert_eq!(ana.ask(Method::PATCH, &me, Some(json!({ "role": "owner" }))).await.0, StatusCode::OK);
    let (status, refused) = ana.ask(Method::PATCH, &me, Some(json!({ "role": null }))).await;
    assert_eq!(
        (status.as_u16(), &refused["errors"][0]["path"]),
        (422, &json!("role")),
        "no role is the default: {refused}"
    );
    let carols = format!("/v1/people/{}", text(&carol["id"]));
    assert_eq!(ana.ask(Method::DELETE, &carols, None).await.0, StatusCode::NO_CONTENT, "an invitation is taken back");
    assert_eq!(ana.ask(Method::GET, &carols, None).await.0, StatusCode::NOT_FOUND);

    // Two owners who demote each other at the same time: one remains.
    let bob = joined(&service, &oidc, &ana, "bob", "owner").await;
    let his = format!("/v1/people/{}", text(&bob.who().await.1["person"]["id"]));
    let (hers, his) = tokio::join!(ana.ask(Method::PATCH, &his, demote()), bob.ask(Method::PATCH, &me, demote()));
    let done = [&hers, &his].into_iter().filter(|(status, _)| *status == StatusCode::OK).count();
    assert_eq!(done, 1, "{hers:?} {his:?}");
    service.stop().await;
}

#[tokio::test]
async fn people_are_checked_and_belong_to_their_tenant() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let me = format!("/v1/people/{}", text(&ana.who().await.1["person"]["id"]));
    for (body, paths) in [
        (json!({}), vec!["email"]),
        (json!({ "email": "nobody" }), vec!["email"]),
        (json!({ "email": "a@b c" }), vec!["email"]),
        (json!({ "email": 7 }), vec!["email"]),
        (json!({ "email": "a@b.c", "role": "admin" }), vec!["role"]),
        (json!({ "email": "", "role": "admin" }), vec!["email", "role"]),
    ] {
        let (status, refusal) = ana.ask(Method::POST, "/v1/people", Some(body.clone())).await;
        let errors = refusal["errors"].as_array().expect("a list").iter().map(|error| text(&error["path"]));
        assert_eq!(
            (status, errors.collect::<Vec<_>>()),
            (StatusCode::UNPROCESSABLE_ENTITY, paths.into_iter().map(str::to_owned).collect()),
            "{body}"
        );
    }
    // A program of another tenant, and one of the same.
    assert_eq!(service.client.get(&me).await.0, StatusCode::NOT_FOUND);
    assert_eq!(service.client.patch(&me, json!({ "role": "viewer" })).await.0, StatusCode::NOT_FOUND);
    assert_eq!(service.client.get("/v1/people").await.1["data"], json!([]));
    let invited = service.client.create("/v1/people", json!({ "email": "dan@example.com", "colour": 1 })).await;
    assert_eq!(
        (&invited["role"], &invited["warnings"]),
        (&json!("member"), &json!(["Unknown field colour was ignored."]))
    );
    service.stop().await;
}
